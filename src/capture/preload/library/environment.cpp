// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/environment.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr iot_u64 kVariableBytes = kPathBytes + 64;

char g_arena_variable[kVariableBytes]; // "NAME=value"; empty: not needed
char g_added_variable[kVariableBytes]; // the same, for an environment without it
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

bool make_variable(char* to, const char* name, const char* value) {
  to[0] = 0;
  const bool fits = append(to, kVariableBytes, name) && append(to, kVariableBytes, "=") &&
                    append(to, kVariableBytes, value);
  if (!fits)
    to[0] = 0;
  return fits;
}

// The value if `variable` is "NAME=value", else null.
const char* value_if(const char* variable, const char* name) {
  const iot_u64 size = strlen(name);
  return strncmp(variable, name, size) == 0 && variable[size] == '=' ? variable + size + 1
                                                                     : nullptr;
}

const char* arena_if(const char* variable) {
  const char* const value = value_if(variable, kArenaVariable);
  return value != nullptr ? value : value_if(variable, kAddedArenaVariable);
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

bool find_library(char* path) {
  Dl_info info{};
  path[0] = 0;
  return dladdr(reinterpret_cast<void*>(remember_environment), &info) != 0 &&
         append(path, kPathBytes, info.dli_fname);
}

// Removes the library, which comes first. True: nothing is left.
bool remove_library(char* variable, const char* library) {
  char* const value = variable + sizeof(kPreload);
  const iot_u64 bytes = strlen(library);
  if (strncmp(value, library, bytes) != 0)
    return false;
  if (value[bytes] == 0)
    return true;
  if (value[bytes] == ':')
    memmove(value, value + bytes + 1, strlen(value + bytes + 1) + 1);
  return false;
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

const char* arena_in_environment() {
  const char* const path = environment_value(kArenaVariable);
  return path != nullptr ? path : environment_value(kAddedArenaVariable);
}

void remember_environment(const char* arena_path) {
  if (find_library(g_library) && make_variable(g_added_variable, kAddedArenaVariable, arena_path))
    make_variable(g_arena_variable, kArenaVariable, arena_path);
}

void hide_added_variables() {
  if (environ == nullptr || environment_value(kAddedArenaVariable) == nullptr ||
      (g_library[0] == 0 && !find_library(g_library)))
    return;
  char** to = environ;
  for (char** from = environ; *from != nullptr; ++from) {
    const bool is_preload = value_if(*from, kPreload) != nullptr;
    const bool is_added = value_if(*from, kAddedArenaVariable) != nullptr ||
                          (is_preload && remove_library(*from, g_library));
    if (!is_added)
      *to++ = *from;
  }
  *to = nullptr;
}

const char* own_library() {
  return g_library;
}

const char* own_arena() {
  return g_arena_variable[0] != 0 ? g_arena_variable + sizeof(kArenaVariable) : "";
}

const char* other_arena(Strings environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (const char* const arena = arena_if(*environment); arena != nullptr)
      return strcmp(arena, own_arena()) != 0 ? arena : nullptr;
  return nullptr;
}

Survey::Survey(Strings environment) : environment_(environment) {
  for (; environment != nullptr && environment[count_] != nullptr; ++count_) {
    const char* const variable = environment[count_];
    names_arena_ |= value_if(variable, kArenaVariable) != nullptr;
    has_arena_ |=
        strcmp(variable, g_arena_variable) == 0 || strcmp(variable, g_added_variable) == 0;
    if (const char* const value = value_if(variable, kPreload); value != nullptr) {
      preload_ = value;
      preload_at_ = count_;
      has_library_ = strstr(value, g_library) != nullptr;
    }
  }
}

iot_u64 Survey::bytes() const {
  return pointer_bytes() + sizeof(kPreload) + 2 + strlen(g_library) +
         (preload_ != nullptr ? strlen(preload_) + 1 : 0);
}

Strings Survey::extended(void* room) const {
  auto** const all = static_cast<char**>(room);
  char* const preload = static_cast<char*>(room) + pointer_bytes();
  const iot_u64 preload_bytes = bytes() - pointer_bytes();
  iot_u64 count = 0;
  for (iot_u64 i = 0; i < count_; ++i)
    if (arena_if(environment_[i]) == nullptr)
      all[count++] = i == preload_at_ ? preload : environment_[i];
  preload[0] = 0;
  append(preload, preload_bytes, kPreload);
  append(preload, preload_bytes, "=");
  append(preload, preload_bytes, g_library);
  if (preload_ != nullptr && !has_library_) {
    append(preload, preload_bytes, ":");
    append(preload, preload_bytes, preload_);
  }
  if (preload_ == nullptr)
    all[count++] = preload;
  all[count++] = names_arena_ ? g_arena_variable : g_added_variable;
  all[count] = nullptr;
  return all;
}

Strings Survey::without_library(void* room) const {
  auto** const all = static_cast<char**>(room);
  char* const preload = static_cast<char*>(room) + pointer_bytes();
  const iot_u64 preload_bytes = bytes() - pointer_bytes();
  preload[0] = 0;
  append(preload, preload_bytes, kPreload);
  const char* separator = "=";
  const iot_u64 own_bytes = strlen(g_library);
  bool is_kept = false;
  for (const char* at = preload_; *at != 0;) {
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
  for (iot_u64 i = 0; i < count_; ++i)
    if (i != preload_at_)
      all[count++] = environment_[i];
  if (is_kept)
    all[count++] = preload;
  all[count] = nullptr;
  return all;
}

} // namespace iotrail::capture::preload
