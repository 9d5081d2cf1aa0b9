// SPDX-License-Identifier: BSD-3-Clause
//
// The two variables by which a recording follows from program to program: one lets the linker load
// the library, the other names the arena.
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

using Strings = char* const*;

// The value of a variable in this program's environment, or null.
const char* environment_value(const char* name);

// The arena that the environment names; null: none.
const char* arena_in_environment();

// Remembers the variables that the next program needs to be followed too.
void remember_environment(const char* arena_path);

// A program that emptied its environment started this one. Both variables were added to that, and
// are removed from `environ`, so that this program has what it was given.
void hide_added_variables();

// Of what was remembered; "": nothing.
const char* own_library();
const char* own_arena();

// Another recording's arena in an environment; null: none.
const char* other_arena(Strings environment);

// What an environment has of the variables.
class Survey {
public:
  explicit Survey(Strings environment);
  bool has_library() const { return has_library_; }
  bool is_complete() const { return has_arena_ && has_library_; }
  // Of the room for extended() or without_library().
  iot_u64 bytes() const;
  // The environment with both variables.
  Strings extended(void* room) const;
  // The environment without the library, if the linker would print an error for it. Needs
  // has_library().
  Strings without_library(void* room) const;

private:
  iot_u64 pointer_bytes() const { return (count_ + 3) * sizeof(char*); }

  Strings environment_;
  iot_u64 count_ = 0;
  iot_u64 preload_at_ = ~0ULL;
  const char* preload_ = nullptr; // value of LD_PRELOAD
  bool names_arena_ = false;      // by the variable of the recorder, with any value
  bool has_arena_ = false;
  bool has_library_ = false;
};

} // namespace iotrail::capture::preload
