// SPDX-License-Identifier: BSD-3-Clause
//
// Stops a recording: no event is recorded from one moment on, and hooks are removed where nothing
// waits for it.
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/load/signals_blocked.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {

// From here on no task counts as traced and no file as known: programs that are still attached find
// nothing to do.
void BpfObject::silence() {
  auto* const bss = skeleton_->bss;
  __atomic_store_n(&bss->is_stopped, 1U, __ATOMIC_RELEASE);
  __atomic_store_n(&bss->is_started, 0U, __ATOMIC_RELEASE);
  for (iot_task& task : bss->task_states) {
    __atomic_store_n(&task.is_shared, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&task.live_tid, 0U, __ATOMIC_RELEASE);
  }
  silenced_ns_ = monotonic_ns();
}

std::vector<bpf_link*> BpfObject::take_links(bool slow_ones) {
  std::vector<bpf_link*> links;
  for (const Attached& attached : attached_)
    if (attached.is_slow == slow_ones)
      links.push_back(attached.link);
  std::erase_if(attached_, [&](const Attached& a) { return a.is_slow == slow_ones; });
  return links;
}

// Takes the kernel some 10 ms, in which the recording is finished.
void BpfObject::let_go_meanwhile() {
  const std::vector<bpf_link*> links = take_links(false);
  const SignalsBlocked blocked;
  try {
    letting_go_ = std::thread([links] { std::ranges::for_each(links, bpf_link__destroy); });
  } catch (const std::system_error&) { // as many threads as there may be
    std::ranges::for_each(links, bpf_link__destroy);
  }
}

// A child with copies of only the descriptors lives longer than they are open here. The kernel
// removes the hooks when the child ends, so that the child waits for it.
void BpfObject::leave_links_to_child() {
  std::array<int, 2> until{};
  if (std::ranges::none_of(attached_, &Attached::is_slow) || ::pipe2(until.data(), O_CLOEXEC) != 0)
    return void(std::ranges::for_each(take_links(true), bpf_link__destroy));
  Fd wait(until[0]);
  Fd gone(until[1]);
  std::vector<unsigned> kept = {static_cast<unsigned>(wait.get())};
  for (const Attached& attached : attached_)
    kept.push_back(static_cast<unsigned>(bpf_link__fd(attached.link)));
  std::ranges::sort(kept);
  const pid_t child = ::fork();
  if (child == 0) { // of a process with threads: system calls only
    if (::fork() != 0)
      ::_exit(0); // so that the recorder need not wait for the grandchild, which continues
    unsigned first = 0;
    for (const unsigned fd : kept) {
      if (fd > first)
        ::syscall(SYS_close_range, first, fd - 1, 0);
      first = fd + 1;
    }
    ::syscall(SYS_close_range, first, ~0U, 0);
    char nothing = 0;
    while (::read(until[0], &nothing, 1) > 0) {
    }
    ::_exit(0);
  }
  if (child > 0)
    ::waitpid(child, nullptr, 0);
  std::ranges::for_each(take_links(true), bpf_link__destroy);
}

void BpfObject::detach() {
  if (attached_.empty())
    return;
  silence();
  recursion_misses_ = recursion_misses();
  let_go_meanwhile();
  leave_links_to_child();
}

void BpfObject::wait_for_programs() {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

} // namespace iotrail::capture::kernel
