// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/untraced_programs.hpp"

#include <algorithm>
#include <unordered_set>

namespace iotrail::capture {

namespace {

constexpr std::size_t kFirst = 1000;
constexpr std::size_t kCandidatesMost = 1U << 16U;
constexpr std::size_t kReportedMost = 1U << 12U;

} // namespace

void UntracedPrograms::note_exec(const rows::processes& row, std::uint64_t now_ns) {
  if (!is_expected_)
    return;
  end(row.pid, row.since_ns, now_ns);
  if (candidates_.size() == kCandidatesMost)
    candidates_.pop_front(); // one that started long ago
  candidates_.push_back(
      {row.pid, row.parent_pid, row.since_ns, 0, now_ns, row.exe.empty() ? row.comm : row.exe});
}

void UntracedPrograms::end(iot_u32 pid, std::uint64_t over_ns, std::uint64_t now_ns) {
  for (StartedProgram& program : candidates_)
    if (program.pid == pid && program.over_ns == 0) {
      program.over_ns = over_ns;
      program.heard_ns = now_ns;
    }
}

void UntracedPrograms::note_announcement(iot_u32 pid, std::uint64_t since_ns,
                                         std::uint64_t now_ns) {
  if (is_expected_)
    announced_[pid].push_back({since_ns, now_ns});
}

void UntracedPrograms::note_reported(iot_u32 pid) {
  reported_.push_back(pid);
  if (reported_.size() > kReportedMost)
    reported_.pop_front();
}

// A program that still runs, as far as we know, may not be the one that announced itself a moment
// ago.
bool UntracedPrograms::has_announced(const StartedProgram& program, std::uint64_t now_ns) const {
  const auto found = announced_.find(program.pid);
  return found != announced_.end() &&
         std::ranges::any_of(found->second, [&](const AnnouncedProgram& a) {
           return a.since_ns >= program.since_ns &&
                  (program.over_ns == 0 ? a.heard_ns + kPatienceNs <= now_ns
                                        : a.since_ns <= program.over_ns);
         });
}

bool UntracedPrograms::take_told(const StartedProgram& program) {
  const auto by = std::ranges::find_if(
      reported_, [&](iot_u32 pid) { return pid == program.pid || pid == program.parent; });
  if (by == reported_.end())
    return false;
  reported_.erase(by);
  return true;
}

void UntracedPrograms::conclude(const StartedProgram& program) {
  if (take_told(program))
    return;
  ++count_;
  if (first_.size() < kFirst)
    first_.push_back({program.pid, program.exe});
}

void UntracedPrograms::decide(std::uint64_t now_ns) {
  std::erase_if(candidates_, [&](const StartedProgram& program) {
    if (program.heard_ns + kPatienceNs > now_ns)
      return false;
    if (has_announced(program, now_ns))
      return true;
    if (program.over_ns != 0)
      conclude(program);
    return program.over_ns != 0;
  });
  forget_announcements(now_ns);
}

// Not by time alone: a delayed recorder receives at once what happened far apart.
void UntracedPrograms::forget_announcements(std::uint64_t now_ns) {
  if (now_ns < next_forget_ns_)
    return;
  next_forget_ns_ = now_ns + kPatienceNs;
  std::unordered_set<iot_u32> undecided;
  for (const StartedProgram& program : candidates_)
    undecided.insert(program.pid);
  std::erase_if(announced_, [&](const auto& row) {
    return row.second.back().heard_ns + 2 * kPatienceNs <= now_ns && !undecided.contains(row.first);
  });
}

} // namespace iotrail::capture
