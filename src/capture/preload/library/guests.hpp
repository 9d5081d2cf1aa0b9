// SPDX-License-Identifier: BSD-3-Clause
//
// Guests: tasks that were made without thread-local storage of their own, by vfork() or by clone() with memory that is shared.
// They run with that of the thread that made them, their host, and would be taken for it. So both go the slow way until the
// guest is gone, and are told apart by their ids: a guest has a place and a ring of its own.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

struct Guests {
  Context* host;           // null: there is no guest
  Context* last;           // of the guest found last
  iot_s32 until_gone;      // its id; 0: not known yet, or one of those below
  bool shares_descriptors; // the first guest and its host close and open for each other
};
inline constexpr iot_s32 kWhileSuspended = -1; // the host runs again once its guest is done
inline constexpr iot_s32 kForEver = -2;        // there were several

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit __thread Guests t_guests IOTRAIL_HIDDEN;

// The context of the task that runs, where this thread has a guest, or had one that is gone. Null: it has none yet.
Context* find_context();

// This thread is about to make a guest; `until_gone` 0: note_guest() will tell.
void expect_guest(iot_s32 until_gone, bool shares_descriptors);

// As clone() returned it; none was made where it is negative.
void note_guest(iot_s32 id);

// The guest's id and its process's, as an owner of a place.
iot_u64 owner_that_runs();

// This is a guest that is a process of its own, in its host's memory.
bool is_guest_process();

// Such a one, whose descriptors are its own: it must not write to the host's table.
bool has_other_descriptors();

// The process id of what runs, guest or not.
iot_s32 running_process_id();

} // namespace iotrail::capture::preload
