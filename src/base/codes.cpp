// SPDX-License-Identifier: Apache-2.0
//
// The table of codes. docs/errors.md says the same; a test compares them.
#include <algorithm>
#include <heddle/error.hpp>

namespace heddle {
namespace {

constexpr CodeInfo table[] = {
    {Code::ok, "ok", "Nothing failed.", "Nothing is to be done."},
    {Code::scope_deadlock, "scope_deadlock",
     "The tasks of one open scope fill the task window: none gives its slot back before the scope ends, and the scope "
     "does not end before the next task has a slot.",
     "End the scope earlier or split it, or raise task_window to the size that the message names."},
    {Code::heap_ring_deadlock, "heap_ring_deadlock",
     "A ring's heap is held for good by open scopes or by tasks that wait for the orchestrator, or one request is "
     "larger "
     "than the heap.",
     "Raise heap_bytes to the size that the message names, or end the scope that holds the memory earlier."},
    {Code::flow_control_deadlock, "flow_control_deadlock",
     "A ring's task window is held for good by scopes or tasks that cannot end before the orchestrator goes on.",
     "Raise task_window to the size that the message names, or nest fewer scopes on one ring."},
    {Code::dep_pool_overflow, "dep_pool_overflow",
     "A ring's dependency pool is held for good: the edges of live tasks leave no room for those of the next one.",
     "Raise dep_pool to the size that the message names, or put a dummy task between many producers and many "
     "consumers."},
    {Code::invalid_argument, "invalid_argument", "A call was refused because of its arguments; it changed nothing.",
     "Correct the argument that the message names."},
    {Code::sync_start_too_wide, "sync_start_too_wide",
     "A task with sync_start has more blocks than can run at the same time.",
     "Submit at most Orchestrator::width() blocks, or leave sync_start out."},
    {Code::tensor_wait_timeout, "tensor_wait_timeout",
     "The orchestrator read or wrote an element, and the tasks that it had to wait for did not end within the tensor "
     "access timeout.",
     "Look at the task that the message names; if it is only slow, raise the tensor access timeout."},
    {Code::user_error, "user_error", "The program reported a failure of its own, or a result that its check refused.",
     "The message is the program's: see where it is raised."},
    {Code::region_map_full, "region_map_full",
     "The table of live accesses that dependencies are inferred from is held for good.",
     "Raise region_entries, end scopes earlier, or pass tensors that need no inference with no_dep."},
    {Code::signal_deadlock, "signal_deadlock",
     "Proved: nothing that is left in the program can satisfy the listed waits.",
     "Compare what each wait has and needs with the notifies meant for it: a missing one, one to another cell or rank, "
     "or "
     "a cell that was cleared after it."},
    {Code::core_deadlock, "core_deadlock", "Proved: a wait holds a core that whoever is to satisfy it needs.",
     "Make the wait a completes_when of its task, which holds no core, or run fewer waiting blocks at a time."},
    {Code::window_mismatch, "window_mismatch",
     "The ranks of a session do not allocate the same windows, with the same sizes, in the same order.",
     "Allocate windows outside of anything that depends on the rank."},
    {Code::kernel_failed, "kernel_failed", "A kernel threw, or used an index outside of its view.",
     "Look at the kernel of the task and block that the report names, with the index or exception of the message."},
    {Code::core_stalled, "core_stalled",
     "A block ran longer than the operation timeout, or did not return within the grace period after it was cancelled.",
     "Look for a loop without end in the kernel at the named line; if it is only slow, raise the operation timeout. A "
     "session with a kernel that never returned cannot be recovered."},
    {Code::peer_lost, "peer_lost", "The process of a rank ended or stopped answering.",
     "Look at the output of that rank's process; the session needs all its ranks."},
    {Code::race, "race",
     "Two accesses to the same memory, at least one of them a write, that nothing orders: another schedule "
     "gives another result.",
     "Order the two tasks that the message names: with an edge, or with a released notify after the first and "
     "a wait before the second."},
    {Code::stale_read, "stale_read",
     "A read that nothing orders after the write whose data it was to see, or of a line that was not "
     "published: it may see what was there before.",
     "Let the writer notify, released and after its put or clean, and the reader wait for exactly that notify; "
     "invalidate a cached line before it is read again."},
    {Code::missing_edge, "missing_edge",
     "The runtime's inference missed an edge: two tasks use the same bytes, at least one of them writes, and "
     "neither waits for the other.",
     "This is a defect of the runtime: report it with the program and its configuration."},
    {Code::not_once, "not_once",
     "A block or a task did not run exactly once, or a block began before what its task waits for had "
     "completed.",
     "This is a defect of the runtime: report it with the program and its configuration."},
    {Code::flags_unbalanced, "flags_unbalanced",
     "The halves of a mixed block ended, and one has set a flag, or pushed tiles, more or less often than the other "
     "has "
     "waited for them: on a chip what is left meets the kernels that come next on this cluster.",
     "Compare the two halves of the kernel that the message names: on each path both must count the same, also where "
     "one "
     "of them returns early."},
    {Code::no_progress, "no_progress",
     "Nothing ran and nothing retired for the scheduler or host fence timeout, and no deadlock could be proved.",
     "Look at what the report lists as waiting; if work outside of the program is being waited for, raise the "
     "timeout."},
    {Code::async_invalid, "async_invalid", "An asynchronous completion named no condition that is waited for.",
     "Complete each condition once, and only while its task is alive."},
    {Code::async_overflow, "async_overflow", "A task has more asynchronous conditions than fit.",
     "Spread the conditions over several tasks."},
    {Code::async_registration, "async_registration", "An asynchronous condition could not be registered with its task.",
     "Register conditions when the task is submitted."},
    {Code::queue_overflow, "queue_overflow", "A bounded queue of the runtime was full where it must never be.",
     "This is a defect of the runtime: report it with the program and its configuration."},
};

constexpr CodeInfo generic{static_cast<Code>(0xffff), "unknown", "A code that this version does not know.",
                           "It comes from another version of Heddle: see that version's reference."};

}  // namespace

std::span<const CodeInfo> code_table() noexcept { return table; }

const CodeInfo& info(Code code) noexcept {
  const auto* found = std::ranges::lower_bound(table, code, {}, &CodeInfo::code);
  return found != std::end(table) && found->code == code ? *found : generic;
}

}  // namespace heddle
