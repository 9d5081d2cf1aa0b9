// SPDX-License-Identifier: BSD-3-Clause
//
// VforkChildren: tasks without their own thread-local storage, made by vfork() or by clone() with
// shared memory. They use the storage of the thread that made them, their host, and would be
// mistaken for it. So both take the slow path until the child is gone, and are separated by their
// ids: a vfork child has its own slot and ring.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

struct VforkChildren {
  Context* host;           // null: no vfork child
  Context* last;           // of the vfork child found last
  iot_s32 until_gone;      // its id; 0: not known yet, or one of the constants below
  bool shares_descriptors; // the first vfork child and its host share their descriptor table
  void* room;              // of a vfork child that executed a program; null: none
  iot_u64 room_bytes;
};
inline constexpr iot_s32 kWhileSuspended = -1; // the host runs again after its vfork child ends
inline constexpr iot_s32 kForEver = -2;        // several children

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit __thread VforkChildren t_vfork_children IOTRAIL_HIDDEN;

// The context of the running task, if this thread has or had a vfork child. Null: it has none yet.
Context* find_context();

// This thread is about to make a vfork child; `until_gone` 0: note_vfork_child() will set it.
void expect_vfork_child(iot_s32 until_gone, bool shares_descriptors);

// The result of clone(); negative: no vfork child was made.
void note_vfork_child(iot_s32 id);

// The ids of the running task and its process, in the form of a place's owner.
iot_u64 owner_that_runs();

// Whether this is a vfork child that is a separate process in its host's memory.
bool is_vfork_child();

// Such a vfork child with its own descriptors: it must not write to the host's table.
bool has_other_descriptors();

// Memory of the kernel for the environment of the next program; null: none. If a vfork child does
// not return it, since it executed that program, its host does.
void* take_room(iot_u64 bytes);
void return_room(void* room, iot_u64 bytes);

// The process id of the running task, vfork child or not.
iot_s32 running_process_id();

} // namespace iotrail::capture::preload
