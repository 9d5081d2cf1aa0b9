// SPDX-License-Identifier: BSD-3-Clause
//
// Hooks without an event: they keep the table of descriptors right.
#include "capture/preload/library/calls.hpp"

namespace iotrail::capture::preload {

namespace {

int note_copy(int from, int to) {
  if (!is_off() && to >= 0 && from != to)
    set_file(to, known_file(from));
  return to;
}

int note_control(int fd, int command, int value) {
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? note_copy(fd, value) : value;
}

} // namespace

EXPORTED_HOOK(int, dup, (int fd)) {
  return note_copy(fd, REAL(dup)(fd));
}
EXPORTED_HOOK(int, dup2, (int from, int to)) {
  return note_copy(from, REAL(dup2)(from, to));
}
EXPORTED_HOOK(int, __dup2, (int from, int to)) {
  return note_copy(from, REAL(__dup2)(from, to));
}
EXPORTED_HOOK(int, dup3, (int from, int to, int flags)) {
  return note_copy(from, REAL(dup3)(from, to, flags));
}

EXPORTED_HOOK(int, fcntl, (int fd, int command, void* argument)) {
  return note_control(fd, command, REAL(fcntl)(fd, command, argument));
}
EXPORTED_HOOK(int, fcntl64, (int fd, int command, void* argument)) {
  return note_control(fd, command, REAL(fcntl64)(fd, command, argument));
}
EXPORTED_HOOK(int, __fcntl, (int fd, int command, void* argument)) {
  return note_control(fd, command, REAL(__fcntl)(fd, command, argument));
}

// Redirects descriptors 0 to 2 to /dev/null by calls that are not hooked.
EXPORTED_HOOK(int, daemon, (int keep_directory, int keep_descriptors)) {
  const int result = REAL(daemon)(keep_directory, keep_descriptors);
  if (result == 0 && keep_descriptors == 0)
    forget_files(0, 2);
  return result;
}

} // namespace iotrail::capture::preload
