// SPDX-License-Identifier: Apache-2.0
#include "tests/random_graph.hpp"

#include <algorithm>
#include <sstream>

#include "tests/random_views.hpp"

namespace heddle::random_graph {

namespace {

// An open scope while a program is made.
struct Frame {
  bool manual = false;
  int ends_with = 0;         // steps left until it closes
  std::vector<int> buffers;  // manual: all that its tasks may touch; automatic: what was allocated in it
  std::vector<int> tasks;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program run() {
    plain_ = random_.chance(20);
    const int externals = random_.between(3, 5);
    for (int i = 0; i < externals; ++i)
      program_.buffers.push_back({i < 2 ? buffer_bytes_most : 64 * random_.between(1, 8), -1});
    frames_.push_back({false, 0, {}, {}});
    for (int i = 1; i < externals; ++i) frames_.back().buffers.push_back(i);
    const int size = random_.chance(70) ? random_.between(2, 25) : random_.between(20, 100);
    for (int i = 0; i < size; ++i) {
      if (frames_.size() > 1 && --frames_.back().ends_with <= 0) close();
      one();
    }
    while (frames_.size() > 1) close();
    return std::move(program_);
  }

 private:
  Frame& frame() { return frames_.back(); }

  void one() {
    const int dice = random_.below(100);
    if (dice < 8 && frames_.size() < 7) return open();
    if (plain_) return task(random_.below(first_dummy));
    if (dice < 13 && !frame().manual) return scalar(random_.chance(50) ? What::read : What::write);
    if (dice < 19) return task(random_.between(first_dummy, static_cast<int>(lists.size()) - 1));
    task(random_.below(first_dummy));
  }

  // What a step that is submitted now may touch.
  std::vector<int> usable() const {
    if (frames_.back().manual) return frames_.back().buffers;
    std::vector<int> all;
    for (const Frame& each : frames_) all.insert(all.end(), each.buffers.begin(), each.buffers.end());
    return all;
  }

  void open() {
    Frame inner;
    inner.ends_with = random_.between(1, 12);
    inner.manual = frame().manual || (!plain_ && random_.chance(35));
    if (inner.manual) {
      // Tasks of a manual scope name their producers. Those of scopes that have ended have no names any more: a dummy
      // that is submitted just outside stands for them.
      std::vector<int> all = usable();
      for (int i = random_.between(1, 3); i > 0 && !all.empty(); --i) {
        const auto which = static_cast<std::size_t>(random_.below(static_cast<int>(all.size())));
        inner.buffers.push_back(all[which]);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (inner.buffers.empty()) return;
      if (!frame().manual) stand_in(inner.buffers);
    }
    Step step;
    step.what = What::open;
    step.manual = inner.manual;
    program_.steps.push_back(step);
    frames_.push_back(std::move(inner));
  }

  void stand_in(const std::vector<int>& buffers) {
    Step step;
    step.list = first_dummy + static_cast<int>(buffers.size());  // "b", "bb", "bbb"
    step.fixed = true;
    for (const int buffer : buffers) add_arg(step, Kind::inout, buffer, true);
    push(std::move(step));
  }

  // What a manual scope touched is out of inference's sight: either the orchestrator waits until all of it has ended,
  // or nobody touches it any more.
  void close() {
    Frame ended = frame();
    if (ended.manual && random_.chance(60))
      join(ended);
    else if (ended.manual)
      forget(ended.buffers);
    Step step;
    step.what = What::close;
    step.manual = ended.manual;
    program_.steps.push_back(step);
    frames_.pop_back();
  }

  void join(const Frame& ended) {
    Step last;
    last.list = static_cast<int>(std::find(lists.begin(), lists.end(), "f") - lists.begin());
    last.fixed = true;
    last.after = ended.tasks;
    add_arg(last, Kind::fresh, -1, true);
    const int buffer = last.args[0].buffer;
    push(std::move(last));
    Step read;
    read.what = What::read;
    read.fixed = true;
    add_element(read, buffer);
    program_.steps.push_back(std::move(read));
  }

  void forget(const std::vector<int>& buffers) {
    for (Frame& each : frames_)
      std::erase_if(each.buffers,
                    [&](int buffer) { return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end(); });
  }

  void add_element(Step& step, int buffer) {
    Arg arg;
    arg.kind = step.what == What::read ? Kind::in : Kind::out;
    arg.buffer = buffer;
    arg.layout = whole_layout(random_.below(type_count), 1, 8);
    const int size = type_bytes[static_cast<std::size_t>(arg.layout.type)];
    arg.layout.shape[0] = 1;
    arg.layout.offset = size * random_.below(program_.buffers[static_cast<std::size_t>(buffer)].bytes / size);
    arg.bytes = bytes_of(arg.layout);
    step.args.push_back(arg);
  }

  void scalar(What what) {
    const auto all = usable();
    if (all.empty()) return;
    Step step;
    step.what = what;
    step.salt = random_.next();
    add_element(step, all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))]);
    program_.steps.push_back(std::move(step));
  }

  void add_arg(Step& step, Kind kind, int buffer, bool whole) {
    const int at = static_cast<int>(step.args.size());
    const int type = type_of(step.list, step.variant, at), rank = rank_of(step.list, step.variant, at);
    Arg arg;
    arg.kind = kind;
    arg.buffer = kind == Kind::scratch ? -1 : buffer;
    if (kind == Kind::fresh || kind == Kind::scratch) {
      const int bytes = 8 * random_.between(1, buffer_bytes_most / 8);
      arg.layout = whole_layout(type, rank, bytes);
      if (kind == Kind::fresh) {
        arg.buffer = static_cast<int>(program_.buffers.size());
        program_.buffers.push_back({bytes, static_cast<int>(program_.steps.size())});
      }
    } else {
      const int bytes = program_.buffers[static_cast<std::size_t>(buffer)].bytes;
      arg.layout =
          whole || random_.chance(8) ? whole_layout(type, rank, bytes) : random_layout(random_, type, rank, bytes);
    }
    if (kind != Kind::scratch) arg.bytes = bytes_of(arg.layout);
    step.args.push_back(arg);
  }

  // Blocks may not touch what other blocks of their task write.
  static bool may_have_blocks(const Step& step) {
    for (std::size_t i = 0; i < step.args.size(); ++i)
      for (std::size_t j = 0; j < step.args.size(); ++j) {
        const bool writes = step.args[i].kind == Kind::out || step.args[i].kind == Kind::inout;
        const bool shared =
            step.args[i].buffer == step.args[j].buffer && (step.args[i].bytes & step.args[j].bytes).any();
        if (i != j && writes && shared && !step.args[j].untouched) return false;
      }
    return true;
  }

  void task(int list) {
    Step step;
    step.list = list;
    step.variant = is_dummy(list) ? 0 : random_.below(variants);
    step.salt = random_.next();
    const auto all = usable();
    for (const char letter : lists[static_cast<std::size_t>(list)]) {
      const Kind kind = static_cast<Kind>(letter);
      const bool constant =
          all.empty() || ((kind == Kind::in || kind == Kind::no_dep) && random_.chance(kind == Kind::in ? 15 : 50));
      if (all.empty() && (kind == Kind::out || kind == Kind::inout)) return;
      add_arg(step, kind, constant ? 0 : all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))],
              false);
      step.args.back().untouched = kind == Kind::no_dep && !constant;
    }
    if (!is_dummy(list) && may_have_blocks(step) && random_.chance(50)) step.blocks = random_.between(1, 7);
    if (!plain_ && may_have_predicate(list) && random_.chance(12) && !all.empty()) add_predicate(step, all);
    step.guarded = !has_fresh(list) && random_.chance(10);
    for (const Frame& each : frames_)
      for (const int earlier : each.tasks)
        if (random_.chance(2)) step.after.push_back(earlier);
    push(std::move(step));
  }

  void add_predicate(Step& step, const std::vector<int>& all) {
    Predicate predicate;
    predicate.buffer = all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))];
    predicate.type = random_.below(type_count);
    const int size = type_bytes[static_cast<std::size_t>(predicate.type)];
    predicate.offset = size * random_.below(program_.buffers[static_cast<std::size_t>(predicate.buffer)].bytes / size);
    predicate.compare = static_cast<Compare>(random_.below(6));
    predicate.value = random_.below(100);
    for (int b = 0; b < size; ++b) predicate.bytes.set(static_cast<std::size_t>(predicate.offset + b));
    // Blocks look at the predicate no more once they run; the task's own writes may cover it.
    step.predicate = predicate;
  }

  void push(Step&& step) {
    const int number = static_cast<int>(program_.steps.size());
    step.manual = frame().manual;
    if (step.manual)
      for (const Frame& each : frames_)
        for (const int earlier : each.tasks)
          if (conflict(program_.steps[static_cast<std::size_t>(earlier)], step)) step.after.push_back(earlier);
    std::sort(step.after.begin(), step.after.end());
    step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
    for (const Arg& arg : step.args)
      if (arg.kind == Kind::fresh) frame().buffers.push_back(arg.buffer);
    frame().tasks.push_back(number);
    program_.steps.push_back(std::move(step));
  }

  Random random_;
  bool plain_ = false;  // every task runs a kernel: none can end unseen, so that edges can be counted
  Program program_;
  std::vector<Frame> frames_;
};

void describe_layout(std::ostream& out, const Layout& layout) {
  out << type_names[static_cast<std::size_t>(layout.type)] << "@" << layout.offset;
  for (std::size_t d = 0; d < static_cast<std::size_t>(layout.rank); ++d)
    out << (d == 0 ? " " : "x") << layout.shape[d] << "/" << layout.stride[d];
}

}  // namespace

Program generate(std::uint64_t seed) { return Generator(seed).run(); }

std::string describe(const Program& program, int number) {
  const Step& step = program.steps[static_cast<std::size_t>(number)];
  std::ostringstream out;
  out << number << " ";
  switch (step.what) {
    case What::nothing:
      out << "-";
      break;
    case What::task:
      out << (is_dummy(step.list) ? "dummy" : "task");
      break;
    case What::open:
      out << (step.manual ? "open manual scope" : "open scope");
      break;
    case What::close:
      out << "close scope";
      break;
    case What::read:
      out << "orchestrator reads";
      break;
    case What::write:
      out << "orchestrator writes";
      break;
  }
  if (step.blocks > 1) out << " of " << step.blocks << " blocks";
  for (const Arg& arg : step.args) {
    static constexpr std::string_view names[] = {"in", "out", "inout", "no_dep", "scratch", "new_tensor"};
    const auto kind = std::string_view("iobnsf").find(static_cast<char>(arg.kind));
    out << ", " << names[kind] << (arg.untouched ? " (untouched)" : "") << " b" << arg.buffer << " ";
    describe_layout(out, arg.layout);
  }
  for (const int earlier : step.after) out << " after " << earlier;
  if (step.predicate)
    out << " when b" << step.predicate->buffer << " " << type_names[static_cast<std::size_t>(step.predicate->type)]
        << "@" << step.predicate->offset << " " << name_of(step.predicate->compare) << " " << step.predicate->value;
  if (step.guarded) out << " (guarded)";
  return out.str();
}

std::string describe(const Program& program) {
  std::string text;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i)
    if (program.steps[static_cast<std::size_t>(i)].what != What::nothing) text += describe(program, i) + "\n";
  return text;
}

}  // namespace heddle::random_graph
