// SPDX-License-Identifier: Apache-2.0
//
// Runs the built command as a process of its own, as a user does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::test {

struct Outcome {
  int exit_code = -1;  ///< 128 + signal when one ended it
  std::string out, err;
};

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool terminal = false;         ///< both outputs are one terminal; what it shows is in `err`
  std::string stdout_file = {};  ///< instead of being captured
  std::string folder = {};       ///< to run in
};

class Child {
 public:
  explicit Child(std::vector<std::string> arguments, ChildOptions options = {}) {
    arguments.insert(arguments.begin(), HEDDLE_TEST_COMMAND);
    int child_end = -1;
    if (options.terminal) {
      if (::openpty(&from_child_, &child_end, nullptr, nullptr, nullptr) != 0)
        throw std::runtime_error("openpty failed");
    } else {
      int ends[2];
      if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
      from_child_ = ends[0];
      child_end = ends[1];
      out_ = std::tmpfile();
    }
    // Neither end of it may stay open in a child of another test.
    ::fcntl(from_child_, F_SETFD, FD_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) become(arguments, options, child_end);
    ::close(child_end);
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (from_child_ >= 0) ::close(from_child_);
    if (out_ != nullptr) std::fclose(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) { ::kill(pid_, signal); }
  std::string pid() const { return std::to_string(pid_); }

  /// Reads the standard error until it holds the text. False when the child ended without.
  bool wait_for(std::string_view text) {
    while (err_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }

  Outcome finish() {
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "", err_};
    if (out_ == nullptr) return outcome;
    std::rewind(out_);
    char buffer[4096];
    for (std::size_t bytes; (bytes = std::fread(buffer, 1, sizeof buffer, out_)) > 0;)
      outcome.out.append(buffer, bytes);
    return outcome;
  }

 private:
  [[noreturn]] void become(std::vector<std::string>& arguments, const ChildOptions& options, int child_end) {
    // Whatever started the tests may ignore or block what they send.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(127);
    int output = options.terminal ? child_end : ::fileno(out_);
    if (!options.stdout_file.empty()) output = ::open(options.stdout_file.c_str(), O_WRONLY);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(child_end, STDERR_FILENO);
    if (child_end > STDERR_FILENO) ::close(child_end);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }

  // A terminal whose other end is closed reports an error in place of the end.
  bool read_more() {
    char buffer[4096];
    ssize_t bytes = 0;
    do bytes = ::read(from_child_, buffer, sizeof buffer);
    while (bytes < 0 && errno == EINTR);
    if (bytes > 0) err_.append(buffer, static_cast<std::size_t>(bytes));
    return bytes > 0;
  }

  pid_t pid_ = -1;
  int from_child_ = -1;
  std::FILE* out_ = nullptr;
  std::string err_;
};

inline Outcome run_command(std::vector<std::string> arguments, ChildOptions options = {}) {
  return Child(std::move(arguments), std::move(options)).finish();
}

/// "tests/modules/NAME.so" of the build.
inline std::string module_path(const std::string& name) {
  return std::string(HEDDLE_TEST_MODULE_DIR) + "/" + name + ".so";
}

/// A new empty folder, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  bool is_empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

inline bool is_one_line(std::string_view text) { return !text.empty() && text.find('\n') == text.size() - 1; }

}  // namespace heddle::test
