// SPDX-License-Identifier: Apache-2.0
#include "lab/host_calls.hpp"

#include <exception>
#include <string>

#include "lab/running_now.hpp"

namespace heddle::lab {

std::optional<Error> call_program(const ProgramBase& program, HostCall call, int ranks, std::int64_t round, int phase,
                                  const std::function<const heddle::detail::IoTable&(int)>& io_of) {
  const char* const what = call == HostCall::fill ? "fill" : "check";
  for (int rank = 0; rank < ranks; ++rank) {
    HostIo io(io_of(rank), rank, ranks, round, phase);
    RunningNow::here().enter({what, "", rank, -1});
    try {
      if (call == HostCall::fill) {
        program.fill(io);
      } else {
        program.check(io);
      }
    } catch (const Error& error) {
      return Error(error).at_rank(rank).in_round(round);
    } catch (const std::exception& error) {
      return Error(Code::user_error, std::string(what) + " threw: " + error.what()).at_rank(rank).in_round(round);
    }
  }
  return std::nullopt;
}

}  // namespace heddle::lab
