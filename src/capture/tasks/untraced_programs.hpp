// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that a traced process executed, according to the kernel source, and that never announced
// themselves: they run without the preload library. Without a kernel source they are unknown, and
// this is empty.
//
// Reports of the two sources on one program may arrive a drain apart, in either order. A program is
// decided once no more reports can arrive. `now_ns` is the time of arrival, which may be long after
// the event.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "dictionary_rows.hpp"

namespace iotrail::capture {

class UntracedPrograms {
public:
  struct UnseenProgram {
    iot_u32 pid = 0;
    std::string exe; // as reported by the kernel source
  };

  // Programs announce themselves: the preload source is open.
  void expect() { is_expected_ = true; }

  void note_exec(const rows::processes& row, std::uint64_t now_ns);
  void note_end(iot_u32 pid, std::uint64_t now_ns) { end(pid, now_ns, now_ns); }
  void note_announcement(iot_u32 pid, std::uint64_t since_ns, std::uint64_t now_ns);
  // The process, or a child of it, is about to execute a program that cannot load the library; this
  // is already reported.
  void note_reported(iot_u32 pid);

  void decide(std::uint64_t now_ns);
  // Call it at the end. `is_running(pid)`: it may still be starting its program.
  template <class IsRunning> void decide_all(std::uint64_t now_ns, const IsRunning& is_running) {
    for (StartedProgram& program : candidates_)
      if (program.over_ns == 0 &&
          (program.since_ns + kStartNs < now_ns || !is_running(program.pid)))
        program.over_ns = program.heard_ns = now_ns;
    decide(now_ns + kPatienceNs);
  }

  std::uint64_t count() const { return count_; }
  const std::vector<UnseenProgram>& first() const { return first_; } // the first thousand

private:
  static constexpr std::uint64_t kPatienceNs = 200'000'000;
  static constexpr std::uint64_t kStartNs =
      1'000'000'000; // a program may take this long to load its libraries

  struct StartedProgram {
    iot_u32 pid = 0;
    iot_u32 parent = 0;
    std::uint64_t since_ns = 0;
    std::uint64_t over_ns = 0;  // time of the next program or of the end; 0: it runs
    std::uint64_t heard_ns = 0; // arrival of the last report
    std::string exe;
  };
  struct AnnouncedProgram {
    std::uint64_t since_ns = 0;
    std::uint64_t heard_ns = 0;
  };

  void end(iot_u32 pid, std::uint64_t over_ns, std::uint64_t now_ns);
  bool has_announced(const StartedProgram& program, std::uint64_t now_ns) const;
  bool take_told(const StartedProgram& program);
  void conclude(const StartedProgram& program);
  void forget_announcements(std::uint64_t now_ns);

  bool is_expected_ = false;
  std::deque<StartedProgram> candidates_;                                // sorted by execution
  std::unordered_map<iot_u32, std::vector<AnnouncedProgram>> announced_; // by process
  std::uint64_t next_forget_ns_ = 0;
  std::deque<iot_u32> reported_;
  std::uint64_t count_ = 0;
  std::vector<UnseenProgram> first_;
};

} // namespace iotrail::capture
