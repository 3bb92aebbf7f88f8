// SPDX-License-Identifier: Apache-2.0
#include "host/source_lines.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace heddle::host {

namespace {

constexpr std::size_t name_most = 160;

// Files beside the module, or by its build identifier. Not the standard search, which may ask a server.
int find_debug_file(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                    const char* link, GElf_Word checksum, char** found) {
  const int by_identifier = dwfl_build_id_find_debuginfo(module, data, name, base, file, link, checksum, found);
  if (by_identifier >= 0 || std::getenv("DEBUGINFOD_URLS") != nullptr) return by_identifier;
  return dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum, found);
}

bool own_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  const auto& sample = *static_cast<const ThreadSample*>(argument);
  if (address < sample.stack_begin) return false;
  const std::uint64_t offset = address - sample.stack_begin;
  if (sample.stack.size() < sizeof *result || offset > sample.stack.size() - sizeof *result) return false;
  std::memcpy(result, sample.stack.data() + offset, sizeof *result);
  return true;
}

// One thread, whose registers are those of the sample.
pid_t only_thread(Dwfl*, void* argument, void** state) {
  if (*state != nullptr) return 0;
  *state = argument;
  return ::getpid();
}
bool only_this_thread(Dwfl*, pid_t, void* argument, void** state) {
  *state = argument;
  return true;
}
bool set_registers(Dwfl_Thread* thread, void* argument) {
  const auto& sample = *static_cast<const ThreadSample*>(argument);
  return dwfl_thread_state_registers(thread, 0, ThreadSample::register_count, sample.registers.data());
}

struct Address {
  Dwarf_Addr pc;
  bool is_return;  // of a call: the call itself is before it
};

int keep_frame(Dwfl_Frame* frame, void* argument) {
  auto& addresses = *static_cast<std::vector<Address>*>(argument);
  Dwarf_Addr pc = 0;
  bool is_activation = false;
  if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
  // The walk ends at the foot of a fiber's stack, which returns to nowhere.
  if (pc == 0 || addresses.size() >= SourceLines::frames_most) return DWARF_CB_ABORT;
  addresses.push_back({pc, !is_activation});
  return DWARF_CB_OK;
}

// "a::b<int>::f" of "void a::b<int>::f(int) const [clone]".
std::string without_arguments(std::string name) {
  int angle = 0;
  constexpr std::string_view call = "operator()";
  const std::size_t start = name.find(call) == std::string::npos ? 0 : name.rfind(call) + call.size();
  for (std::size_t i = start; i < name.size(); ++i) {
    if (name[i] == '<') ++angle;
    if (name[i] == '>') --angle;
    if (name[i] == '(' && angle == 0 && i != 0 && !std::string_view(name).substr(i).starts_with("(anonymous")) {
      name.resize(i);
      break;
    }
  }
  if (name.size() > name_most) name = name.substr(0, name_most) + "…";
  return name;
}

std::string readable(const char* symbol) {
  if (symbol == nullptr) return "";
  int status = -1;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                     &std::free);
  return without_arguments(status == 0 && plain != nullptr ? plain.get() : symbol);
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
}

std::string hexadecimal(std::uint64_t number) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[number % 16]);
    number /= 16;
  } while (number != 0);
  return "0x" + text;
}

}  // namespace

struct SourceLines::Session {
  Session() {
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr) return;
    dwfl_report_begin(dwfl);
    const bool is_known = dwfl_linux_proc_report(dwfl, ::getpid()) == 0;
    if (dwfl_report_end(dwfl, nullptr, nullptr) != 0 || !is_known) end();
    if (dwfl != nullptr) own = dwfl_addrmodule(dwfl, reinterpret_cast<Dwarf_Addr>(&sample));
  }
  ~Session() { end(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  void end() {
    if (dwfl != nullptr) dwfl_end(dwfl);
    dwfl = nullptr;
  }

  std::vector<Address> addresses(const ThreadSample& of);
  void expand(const Address& address, std::vector<SourceFrame>& frames) const;
  bool is_runtime(Dwfl_Module* module) const;
  bool is_system(Dwfl_Module* module) const;

  Dwfl_Callbacks callbacks{&dwfl_linux_proc_find_elf, &find_debug_file, nullptr, nullptr};
  Dwfl* dwfl = nullptr;
  Dwfl_Module* own = nullptr;  // of the runtime
  ThreadSample current;
  bool attached = false;
};

namespace {

std::string path_of(Dwfl_Module* module) {
  const char* file = nullptr;
  const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &file, nullptr);
  if (file != nullptr) return file;
  return name == nullptr ? "" : name;
}

std::string offset_in(Dwfl_Module* module, Dwarf_Addr pc) {
  Dwarf_Addr start = 0;
  dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
  return hexadecimal(pc - start) + " in " + base_name(path_of(module));
}

std::string instruction_at(Dwfl_Module* module, Dwarf_Addr pc) {
  if (module == nullptr) return hexadecimal(pc);
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr) return offset_in(module, pc);
  return readable(name) + "+" + hexadecimal(offset) + " in " + base_name(path_of(module));
}

// The unit that an address lies in. Some compilers write no table of addresses: then each unit is asked.
Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr& bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, pc, &bias); unit != nullptr) return unit;
  for (Dwarf_Die* unit = dwfl_module_nextcu(module, nullptr, &bias); unit != nullptr;
       unit = dwfl_module_nextcu(module, unit, &bias))
    if (dwarf_haspc(unit, pc - bias) > 0) return unit;
  return nullptr;
}

struct Place {
  std::string file;
  std::uint32_t line = 0;
};

Place line_at(Dwarf_Die* unit, Dwarf_Addr address) {
  Place place;
  Dwarf_Line* const line = dwarf_getsrc_die(unit, address);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return place;
  if (const char* file = dwarf_linesrc(line, nullptr, nullptr); file != nullptr) {
    place.file = file;
    place.line = static_cast<std::uint32_t>(number);
  }
  return place;
}

// Where a call that was inlined stands.
Place call_of(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Place place;
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0) return place;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return place;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return place;
  if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr); name != nullptr) {
    place.file = name;
    place.line = static_cast<std::uint32_t>(line);
  }
  return place;
}

// What the address lies in, the innermost first. The first search tells the innermost one and then where that was
// written; the second, where it was inlined into.
std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address) {
  const auto kept = [](Dwarf_Die* scopes, int count) {
    std::vector<Dwarf_Die> all;
    if (count > 0) all.assign(scopes, scopes + count);
    std::free(scopes);
    return all;
  };
  Dwarf_Die* scopes = nullptr;
  const int written = dwarf_getscopes(unit, address, &scopes);
  std::vector<Dwarf_Die> innermost = kept(scopes, written);
  if (innermost.empty()) return innermost;
  scopes = nullptr;
  const int inlined = dwarf_getscopes_die(innermost.data(), &scopes);
  std::vector<Dwarf_Die> all = kept(scopes, inlined);
  return all.empty() ? innermost : all;
}

std::string name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* name = dwarf_formstring(dwarf_attr_integrate(function, kind, &attribute)); name != nullptr)
      return readable(name);
  const char* name = dwarf_diename(function);
  return name == nullptr ? "" : name;
}

}  // namespace

std::vector<Address> SourceLines::Session::addresses(const ThreadSample& of) {
  static constexpr Dwfl_Thread_Callbacks threads{&only_thread,   &only_this_thread, &own_memory,
                                                 &set_registers, nullptr,           nullptr};
  std::vector<Address> found;
  current = of;  // the callbacks are given one object for as long as the session lives
  if (!attached) attached = dwfl_attach_state(dwfl, nullptr, ::getpid(), &threads, &current);
  if (attached) (void)dwfl_getthread_frames(dwfl, ::getpid(), &keep_frame, &found);
  if (found.empty()) found.push_back({of.pc, false});
  return found;
}

bool SourceLines::Session::is_runtime(Dwfl_Module* module) const {
  return module != nullptr && module == own && base_name(path_of(module)).starts_with("libheddle");
}

bool SourceLines::Session::is_system(Dwfl_Module* module) const {
  if (module == nullptr || module == own) return false;
  const std::string path = path_of(module);
  return path.starts_with("/usr/") || path.starts_with("/lib") || path.starts_with("[");
}

void SourceLines::Session::expand(const Address& address, std::vector<SourceFrame>& frames) const {
  const Dwarf_Addr pc = address.pc - (address.is_return ? 1 : 0);
  Dwfl_Module* const module = dwfl_addrmodule(dwfl, pc);
  SourceFrame frame;
  frame.runtime = is_runtime(module) || is_system(module);
  // What is installed for the system's own libraries takes long to read, and nobody asked about them.
  frame.instruction = is_system(module) ? offset_in(module, address.pc) : instruction_at(module, address.pc);
  if (is_system(module)) {
    frames.push_back(std::move(frame));
    return;
  }
  if (module != nullptr) frame.function = readable(dwfl_module_addrname(module, pc));
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = module == nullptr ? nullptr : unit_of(module, pc, bias);
  if (unit == nullptr) {
    frames.push_back(std::move(frame));
    return;
  }
  Place place = line_at(unit, pc - bias);
  for (Dwarf_Die& scope : scopes_at(unit, pc - bias)) {
    const int tag = dwarf_tag(&scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    SourceFrame each = frame;
    if (std::string name = name_of(&scope); !name.empty()) each.function = std::move(name);
    each.file = place.file;
    each.line = place.line;
    frames.push_back(std::move(each));
    if (tag == DW_TAG_subprogram) return;
    place = call_of(unit, &scope);
  }
  frame.file = place.file;
  frame.line = place.line;
  frames.push_back(std::move(frame));
}

SourceLines::SourceLines() : session_(std::make_unique<Session>()) {}
SourceLines::~SourceLines() = default;

std::vector<SourceFrame> SourceLines::walk(const ThreadSample& sample) {
  std::vector<SourceFrame> frames;
  if (session_->dwfl == nullptr) return frames;
  for (const Address& address : session_->addresses(sample)) {
    if (frames.size() >= frames_most) break;
    session_->expand(address, frames);
  }
  return frames;
}

}  // namespace heddle::host
