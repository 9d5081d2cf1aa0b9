// SPDX-License-Identifier: BSD-3-Clause
//
// Lets a recording follow from program to program: adds the library and the arena to the next
// program's environment, even if that was emptied.
#include <alloca.h>
#include <string.h>

#include "capture/preload/library/calls.hpp"
#include "capture/preload/library/environment.hpp"
#include "capture/preload/library/next_program.hpp"
#include "capture/preload/library/path_room.hpp"
#include "capture/preload/library/readable.hpp"
#include "capture/preload/library/vfork_children.hpp"
#include "capture/preload/shared/descriptor_link.hpp"
#include "capture/preload/shared/preload_blocker.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr iot_u64 kStackBytes = 1U
                                << 10U; // larger arrays come from the kernel: a stack may be small

bool can_open(const char* path, int flags) {
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, address(path), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file >= 0)
    raw_syscall(SYS_close, file);
  return file >= 0;
}

// `program` null: no known name.
PreloadBlocker find_blocker(const char* program, Strings arguments, Strings environment) {
  if (own_arena()[0] == 0)
    return PreloadBlocker::none;
  // A recording inside this one has its own arena, which exists.
  if (const char* const other = other_arena(environment);
      other != nullptr && can_open(other, O_RDWR))
    return PreloadBlocker::other_recording;
  if (is_confined()) // no file can be checked; most filters allow the library
    return PreloadBlocker::none;
  if (!can_open(own_library(), O_RDONLY) || (!is_off() && !can_open(own_arena(), O_RDWR)))
    return PreloadBlocker::unreachable;
  return blocker_of(program, arguments);
}

struct NextProgram {
  bool is_readable; // false: the kernel will refuse its path, its arguments or its environment
  PreloadBlocker preload_blocker;
};

NextProgram look_at(const char* program, Strings arguments, Strings environment) {
  if ((program != nullptr && !is_readable(program)) || !are_readable(arguments) ||
      !are_readable(environment))
    return {false, PreloadBlocker::none};
  const PreloadBlocker preload_blocker = find_blocker(program, arguments, environment);
  if (preload_blocker != PreloadBlocker::none)
    report_blocker(program, preload_blocker);
  return {true, preload_blocker};
}

// Calls run(environment) with the variables added or removed. It uses the stack if they fit. What a
// vfork child takes stays in its host's memory when the child executes a program: the host returns
// it.
template <class Run>
int with_environment(const NextProgram& program, Strings environment, Run run) {
  if (!program.is_readable)
    return run(environment);
  const PreloadBlocker preload_blocker = program.preload_blocker;
  const Survey survey(environment);
  const bool removes = is_harmful(preload_blocker) && survey.has_library();
  const bool adds = !is_harmful(preload_blocker) &&
                    preload_blocker != PreloadBlocker::other_recording && !is_off() &&
                    own_arena()[0] != 0 && !survey.is_complete();
  if (!removes && !adds)
    return run(environment);
  const bool fits = survey.bytes() <= kStackBytes;
  void* const room = fits ? alloca(survey.bytes()) : take_room(survey.bytes());
  if (room == nullptr)
    return run(environment);
  const int result = run(removes ? survey.without_library(room) : survey.extended(room));
  if (!fits)
    return_room(room, survey.bytes());
  return result;
}

int execute(const char* path, Strings arguments, Strings environment) {
  return with_environment(look_at(path, arguments, environment), environment,
                          [&](Strings next) { return REAL(execve)(path, arguments, next); });
}

int execute_found(const char* file, Strings arguments, Strings environment) {
  return with_environment(look_at(file, arguments, environment), environment,
                          [&](Strings next) { return REAL(execvpe)(file, arguments, next); });
}

// Number of arguments from `list` on, up to the null at their end.
iot_u64 count_arguments(va_list list) {
  va_list rest;
  va_copy(rest, list);
  iot_u64 count = 0;
  while (va_arg(rest, char*) != nullptr)
    ++count;
  va_end(rest);
  return count;
}

} // namespace

EXPORTED_HOOK(int, execve, (const char* path, Strings arguments, Strings environment)) {
  return execute(path, arguments, environment);
}
EXPORTED_HOOK(int, execv, (const char* path, Strings arguments)) {
  return execute(path, arguments, environ);
}
EXPORTED_HOOK(int, execvp, (const char* file, Strings arguments)) {
  return execute_found(file, arguments, environ);
}
EXPORTED_HOOK(int, execvpe, (const char* file, Strings arguments, Strings environment)) {
  return execute_found(file, arguments, environment);
}

// Copies `list` into an array of arguments on the caller's stack.
#define ARGUMENTS_OF(first, list)                                                                  \
  const iot_u64 count = (first) != nullptr ? count_arguments(list) : 0;                            \
  auto** const arguments = static_cast<char**>(alloca((count + 2) * sizeof(char*)));               \
  arguments[0] = const_cast<char*>(first);                                                         \
  for (iot_u64 i = 1; (first) != nullptr && i <= count + 1; ++i)                                   \
  arguments[i] = va_arg(list, char*)

EXPORTED_HOOK(int, execl, (const char* path, const char* argument, ...)) {
  va_list list;
  va_start(list, argument);
  ARGUMENTS_OF(argument, list);
  va_end(list);
  return execute(path, arguments, environ);
}
EXPORTED_HOOK(int, execlp, (const char* file, const char* argument, ...)) {
  va_list list;
  va_start(list, argument);
  ARGUMENTS_OF(argument, list);
  va_end(list);
  return execute_found(file, arguments, environ);
}
EXPORTED_HOOK(int, execle, (const char* path, const char* argument, ...)) {
  va_list list;
  va_start(list, argument);
  ARGUMENTS_OF(argument, list);
  Strings const environment = va_arg(list, char**);
  va_end(list);
  return execute(path, arguments, environment);
}

namespace {

// The program that is the file of a descriptor, or one with a path below its directory.
NextProgram look_below(int fd, const char* below, Strings arguments, Strings environment) {
  if (below == nullptr || !is_readable(below))
    return look_at(below, arguments, environment);
  const DescriptorLink link(fd);
  const bool is_from_fd = below[0] != '/' && fd >= 0;
  const char* const parts[] = {is_from_fd ? link.text : "", is_from_fd && below[0] != 0 ? "/" : "",
                               below};
  PathRoom room;
  char* const path = room.of(sizeof(link.text) + strlen(below) + 2);
  if (path == nullptr)
    return look_at(nullptr, arguments, environment);
  char* end = path;
  for (const char* const part : parts) {
    memcpy(end, part, strlen(part));
    end += strlen(part);
  }
  *end = 0;
  return look_at(path, arguments, environment);
}

} // namespace

EXPORTED_HOOK(int, fexecve, (int fd, Strings arguments, Strings environment)) {
  return with_environment(look_below(fd, "", arguments, environment), environment,
                          [&](Strings next) { return REAL(fexecve)(fd, arguments, next); });
}
EXPORTED_HOOK(int, execveat,
              (int dir, const char* path, Strings arguments, Strings environment, int flags)) {
  return with_environment(
      look_below(dir, path, arguments, environment), environment,
      [&](Strings next) { return REAL(execveat)(dir, path, arguments, next, flags); });
}
EXPORTED_HOOK(int, posix_spawn,
              (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
  return with_environment(look_at(path, arguments, environment), environment, [&](Strings next) {
    return REAL(posix_spawn)(pid, path, actions, attributes, arguments, next);
  });
}
EXPORTED_HOOK(int, posix_spawnp,
              (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
  return with_environment(look_at(file, arguments, environment), environment, [&](Strings next) {
    return REAL(posix_spawnp)(pid, file, actions, attributes, arguments, next);
  });
}

} // namespace iotrail::capture::preload
