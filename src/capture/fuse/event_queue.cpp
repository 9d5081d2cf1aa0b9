// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/event_queue.hpp"

#include <utility>

namespace iotrail::capture::fuse {

void EventQueue::push(QueuedEvent event) {
  std::unique_lock lock(mutex_);
  ++produced_;
  if (events_.size() >= kEventsMost && !is_stuck_ && !is_closed_)
    is_stuck_ = !room_.wait_for(
        lock, kPatience, [&] { return is_closed_ || is_stuck_ || events_.size() < kEventsMost; });
  if (events_.size() >= kEventsMost && !is_closed_)
    ++lost_;
  else
    events_.push_back(std::move(event));
}

void EventQueue::push(rows::processes process) {
  const std::lock_guard lock(mutex_);
  if (processes_.size() < kEventsMost)
    processes_.push_back(std::move(process));
}

void EventQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  room_.notify_all();
}

std::vector<QueuedEvent> EventQueue::take_events() {
  std::unique_lock lock(mutex_);
  std::vector<QueuedEvent> taken = std::exchange(events_, {});
  is_stuck_ = false;
  lock.unlock();
  if (!taken.empty())
    room_.notify_all();
  return taken;
}

std::vector<rows::processes> EventQueue::take_processes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(processes_, {});
}

bool EventQueue::is_empty() const {
  const std::lock_guard lock(mutex_);
  return events_.empty();
}

} // namespace iotrail::capture::fuse
