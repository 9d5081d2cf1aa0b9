// SPDX-License-Identifier: BSD-3-Clause
//
// Lets a recording follow from program to program: adds the library and the arena to the next
// program's environment, even if that was emptied.
#include <alloca.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/preload/library/calls.hpp"
#include "capture/preload/library/next_program.hpp"
#include "capture/preload/library/readable.hpp"
#include "capture/preload/shared/descriptor_link.hpp"
#include "capture/preload/shared/preload_blocker.hpp"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

using Strings = char* const*;

namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr iot_u64 kVariableBytes = kPathBytes + 64;
constexpr iot_u64 kStackBytes = 8U
                                << 10U; // larger arrays come from the kernel: a stack may be small

char g_arena_variable[kVariableBytes]; // "NAME=value"; empty: not needed
char g_library[kPathBytes];
char g_startup[128U << 10U]; // environment, read before the C library knows it

bool append(char* to, iot_u64 room, const char* text) {
  const iot_u64 at = strlen(to);
  const iot_u64 size = strlen(text);
  if (at + size >= room)
    return false;
  memcpy(to + at, text, size + 1);
  return true;
}

// The value if `variable` is "NAME=value", else null.
const char* value_if(const char* variable, const char* name) {
  const iot_u64 size = strlen(name);
  return strncmp(variable, name, size) == 0 && variable[size] == '=' ? variable + size + 1
                                                                     : nullptr;
}

const char* startup_value(const char* name) {
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, address("/proc/self/environ"), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return nullptr;
  iot_u64 size = 0;
  long got = 1;
  while (got > 0 && size < sizeof(g_startup) - 1) {
    got = raw_syscall(SYS_read, file, address(g_startup + size),
                      static_cast<long>(sizeof(g_startup) - 1 - size));
    size += got > 0 ? static_cast<iot_u64>(got) : 0;
  }
  raw_syscall(SYS_close, file);
  for (const char* variable = g_startup; variable < g_startup + size;
       variable += strlen(variable) + 1)
    if (const char* const value = value_if(variable, name); value != nullptr)
      return value;
  return nullptr;
}

// State of the next program's environment.
struct Survey {
  iot_u64 count = 0;
  iot_u64 preload_at = ~0ULL;
  const char* preload = nullptr;
  bool has_arena = false;
  bool has_library = false;

  explicit Survey(Strings environment) {
    for (; environment != nullptr && environment[count] != nullptr; ++count) {
      const char* const variable = environment[count];
      has_arena |= strcmp(variable, g_arena_variable) == 0;
      if (const char* const value = value_if(variable, kPreload); value != nullptr) {
        preload = value;
        preload_at = count;
        has_library = strstr(value, g_library) != nullptr;
      }
    }
  }
  bool is_complete() const { return has_arena && has_library; }
  iot_u64 pointer_bytes() const { return (count + 3) * sizeof(char*); }
  iot_u64 bytes() const {
    return pointer_bytes() + sizeof(kPreload) + 2 + strlen(g_library) +
           (preload != nullptr ? strlen(preload) + 1 : 0);
  }
};

Strings extend(Strings environment, const Survey& survey, void* room) {
  auto** const all = static_cast<char**>(room);
  char* const preload = static_cast<char*>(room) + survey.pointer_bytes();
  const iot_u64 preload_bytes = survey.bytes() - survey.pointer_bytes();
  iot_u64 count = 0;
  for (iot_u64 i = 0; i < survey.count; ++i)
    if (i != survey.preload_at && value_if(environment[i], kArenaVariable) == nullptr)
      all[count++] = environment[i];
  preload[0] = 0;
  append(preload, preload_bytes, kPreload);
  append(preload, preload_bytes, "=");
  append(preload, preload_bytes, g_library);
  if (survey.preload != nullptr && !survey.has_library) {
    append(preload, preload_bytes, ":");
    append(preload, preload_bytes, survey.preload);
  }
  all[count++] = preload;
  all[count++] = g_arena_variable;
  all[count] = nullptr;
  return all;
}

// The environment without the library, if the linker would print an error for it.
Strings without_library(Strings environment, const Survey& survey, void* room) {
  auto** const all = static_cast<char**>(room);
  char* const preload = static_cast<char*>(room) + survey.pointer_bytes();
  const iot_u64 preload_bytes = survey.bytes() - survey.pointer_bytes();
  preload[0] = 0;
  append(preload, preload_bytes, kPreload);
  const char* separator = "=";
  const iot_u64 own_bytes = strlen(g_library);
  bool is_kept = false;
  for (const char* at = survey.preload; *at != 0;) {
    const iot_u64 bytes = strcspn(at, ": ");
    if (bytes != 0 && (bytes != own_bytes || strncmp(at, g_library, bytes) != 0)) {
      append(preload, preload_bytes, separator);
      const iot_u64 end = strlen(preload);
      memcpy(preload + end, at, bytes); // of the room computed before
      preload[end + bytes] = 0;
      separator = ":";
      is_kept = true;
    }
    at += bytes + (at[bytes] != 0 ? 1 : 0);
  }
  iot_u64 count = 0;
  for (iot_u64 i = 0; i < survey.count; ++i)
    if (i != survey.preload_at)
      all[count++] = environment[i];
  if (is_kept)
    all[count++] = preload;
  all[count] = nullptr;
  return all;
}

bool can_open(const char* path, int flags) {
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, address(path), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file >= 0)
    raw_syscall(SYS_close, file);
  return file >= 0;
}

const char* own_arena() {
  return g_arena_variable + sizeof(kArenaVariable);
}

// A recording inside this one has its own arena, which exists.
bool is_of_other_recording(Strings environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (const char* const arena = value_if(*environment, kArenaVariable); arena != nullptr)
      return strcmp(arena, own_arena()) != 0 && can_open(arena, O_RDWR);
  return false;
}

// `program` null: no known name.
PreloadBlocker find_blocker(const char* program, Strings arguments, Strings environment) {
  if (g_arena_variable[0] == 0)
    return PreloadBlocker::none;
  if (is_of_other_recording(environment))
    return PreloadBlocker::other_recording;
  if (is_confined()) // no file can be checked; most filters allow the library
    return PreloadBlocker::none;
  if (!can_open(g_library, O_RDONLY) || (!is_off() && !can_open(own_arena(), O_RDWR)))
    return PreloadBlocker::unreachable;
  return blocker_of(program, arguments);
}

void* kernel_memory(iot_u64 bytes) {
  const long at = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return is_address(at) ? pointer<void>(at) : nullptr;
}

// Calls run(environment) with the variables added or removed. It uses the stack if they fit,
// because memory that a vfork child takes stays with its parent forever.
template <class Run>
int with_environment(const char* program, Strings arguments, Strings environment, Run run) {
  if ((program != nullptr && !is_readable(program)) || !are_readable(arguments) ||
      !are_readable(environment))
    return run(environment); // the kernel refuses it
  const PreloadBlocker preload_blocker = find_blocker(program, arguments, environment);
  if (preload_blocker != PreloadBlocker::none)
    report_blocker(program, preload_blocker);
  const Survey survey(environment);
  const bool removes = is_harmful(preload_blocker) && survey.has_library;
  const bool adds = !is_harmful(preload_blocker) &&
                    preload_blocker != PreloadBlocker::other_recording && !is_off() &&
                    g_arena_variable[0] != 0 && !survey.is_complete();
  if (!removes && !adds)
    return run(environment);
  const bool fits = survey.bytes() <= kStackBytes;
  void* const room = fits ? alloca(survey.bytes()) : kernel_memory(survey.bytes());
  if (room == nullptr)
    return run(environment);
  const int result =
      run(removes ? without_library(environment, survey, room) : extend(environment, survey, room));
  if (!fits)
    raw_syscall(SYS_munmap, address(room), static_cast<long>(survey.bytes()));
  return result;
}

int execute(const char* path, Strings arguments, Strings environment) {
  return with_environment(path, arguments, environment,
                          [&](Strings next) { return REAL(execve)(path, arguments, next); });
}

int execute_found(const char* file, Strings arguments, Strings environment) {
  return with_environment(file, arguments, environment,
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

const char* environment_value(const char* name) {
  if (environ == nullptr)
    return startup_value(name);
  for (Strings variable = environ; *variable != nullptr; ++variable)
    if (const char* const value = value_if(*variable, name); value != nullptr)
      return value;
  return nullptr;
}

void remember_environment(const char* arena_path) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(remember_environment), &info) == 0)
    return;
  char variable[kVariableBytes] = "";
  if (append(g_library, sizeof(g_library), info.dli_fname) &&
      append(variable, sizeof(variable), kArenaVariable) &&
      append(variable, sizeof(variable), "=") && append(variable, sizeof(variable), arena_path))
    memcpy(g_arena_variable, variable, sizeof(variable));
}

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

// A path to the file of a descriptor.
struct FileName {
  char text[kPathBytes];
  FileName(int fd, const char* below) {
    text[0] = 0;
    const bool is_from_fd = below[0] != '/' && fd >= 0;
    if (is_from_fd)
      append(text, sizeof(text), DescriptorLink(fd).text);
    if (is_from_fd && below[0] != 0)
      append(text, sizeof(text), "/");
    append(text, sizeof(text), below);
  }
};

EXPORTED_HOOK(int, fexecve, (int fd, Strings arguments, Strings environment)) {
  return with_environment(FileName(fd, "").text, arguments, environment,
                          [&](Strings next) { return REAL(fexecve)(fd, arguments, next); });
}
EXPORTED_HOOK(int, execveat,
              (int dir, const char* path, Strings arguments, Strings environment, int flags)) {
  return with_environment(
      path != nullptr && is_readable(path) ? FileName(dir, path).text : nullptr, arguments,
      environment, [&](Strings next) { return REAL(execveat)(dir, path, arguments, next, flags); });
}
EXPORTED_HOOK(int, posix_spawn,
              (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
  return with_environment(path, arguments, environment, [&](Strings next) {
    return REAL(posix_spawn)(pid, path, actions, attributes, arguments, next);
  });
}
EXPORTED_HOOK(int, posix_spawnp,
              (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings arguments, Strings environment)) {
  return with_environment(file, arguments, environment, [&](Strings next) {
    return REAL(posix_spawnp)(pid, file, actions, attributes, arguments, next);
  });
}

} // namespace iotrail::capture::preload
