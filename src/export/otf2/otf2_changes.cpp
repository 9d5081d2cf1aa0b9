// SPDX-License-Identifier: BSD-3-Clause
#ifdef IOTRAIL_HAS_OTF2
#include "export/otf2/otf2_changes.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <utility>

namespace iotrail::output {
namespace {

// Recorded flags are those of the machine of the trace; here those of this one stand for them.
bool has(std::uint64_t flags, int flag) {
  return (flags & static_cast<std::uint64_t>(flag)) == static_cast<std::uint64_t>(flag);
}

template <class Flag, std::size_t N>
Flag flags_of(std::uint64_t flags, const std::pair<int, Flag> (&names)[N]) {
  Flag all = 0;
  for (const auto& [number, flag] : names)
    if (has(flags, number))
      all |= flag;
  return all;
}

OTF2_IoStatusFlag status_of(std::uint64_t flags) {
  static constexpr std::pair<int, OTF2_IoStatusFlag> kNames[] = {
      {O_CLOEXEC, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC},
      {O_APPEND, OTF2_IO_STATUS_FLAG_APPEND},
      {O_NONBLOCK, OTF2_IO_STATUS_FLAG_NON_BLOCKING},
      {O_ASYNC, OTF2_IO_STATUS_FLAG_ASYNC},
      {O_SYNC, OTF2_IO_STATUS_FLAG_SYNC},
      {O_DSYNC, OTF2_IO_STATUS_FLAG_DATA_SYNC},
      {O_DIRECT, OTF2_IO_STATUS_FLAG_AVOID_CACHING},
      {O_NOATIME, OTF2_IO_STATUS_FLAG_NO_ACCESS_TIME}};
  return flags_of<OTF2_IoStatusFlag>(flags, kNames);
}

OTF2_IoCreationFlag creation_of(std::uint64_t flags) {
  static constexpr std::pair<int, OTF2_IoCreationFlag> kNames[] = {
      {O_CREAT, OTF2_IO_CREATION_FLAG_CREATE},
      {O_TRUNC, OTF2_IO_CREATION_FLAG_TRUNCATE},
      {O_DIRECTORY, OTF2_IO_CREATION_FLAG_DIRECTORY},
      {O_EXCL, OTF2_IO_CREATION_FLAG_EXCLUSIVE},
      {O_NOCTTY, OTF2_IO_CREATION_FLAG_NO_CONTROLLING_TERMINAL},
      {O_NOFOLLOW, OTF2_IO_CREATION_FLAG_NO_FOLLOW},
      {O_PATH, OTF2_IO_CREATION_FLAG_PATH},
      {O_TMPFILE, OTF2_IO_CREATION_FLAG_TEMPORARY_FILE}};
  return flags_of<OTF2_IoCreationFlag>(flags, kNames);
}

OTF2_IoAccessMode access_of(const Otf2Span& span) {
  if (span.does != "open") // a socket, or a descriptor of the kernel
    return OTF2_IO_ACCESS_MODE_READ_WRITE;
  switch (span.flags & O_ACCMODE) {
  case O_RDONLY:
    return OTF2_IO_ACCESS_MODE_READ_ONLY;
  case O_WRONLY:
    return OTF2_IO_ACCESS_MODE_WRITE_ONLY;
  default:
    return OTF2_IO_ACCESS_MODE_READ_WRITE;
  }
}

OTF2_IoSeekOption whence_of(std::string_view name) {
  return name == "SEEK_CUR"    ? OTF2_IO_SEEK_FROM_CURRENT
         : name == "SEEK_END"  ? OTF2_IO_SEEK_FROM_END
         : name == "SEEK_DATA" ? OTF2_IO_SEEK_DATA
         : name == "SEEK_HOLE" ? OTF2_IO_SEEK_HOLE
                               : OTF2_IO_SEEK_FROM_START;
}

class Changes {
public:
  Changes(Otf2Handles& handles, Otf2Archive& archive, const Otf2Span& span, Otf2Location& location)
      : handles_(handles), archive_(archive), span_(span), location_(location) {}

  void add() {
    if (span_.what == "lock" || span_.what == "flock")
      return add_lock();
    if (span_.error < 0 || span_.result < 0)
      return;
    if (span_.what == "open")
      make(span_.result, {.what = Otf2What::create,
                          .access = access_of(span_),
                          .creation = creation_of(span_.flags),
                          .status = status_of(span_.flags)});
    else if (span_.what == "pipe")
      add_pipe();
    else if (span_.what == "duplicate")
      add_duplicate();
    else if (span_.what == "close")
      add_close();
    else if (span_.what == "close_range")
      add_close_range();
    else
      add_other();
  }

private:
  void put(const Otf2Change& change) { location_.change(span_.end_ns, change); }
  // Other calls that make descriptors have flags of their own.
  std::uint64_t opened_flags() const { return span_.does == "open" ? span_.flags : 0; }
  OTF2_IoHandleRef handle() {
    return handles_.used(span_.descriptor(), span_.begin_ns, path_of(span_));
  }

  // Its event comes after the end of a handle that had the number, which is put later.
  void make(std::int64_t fd, Otf2Change change) {
    const auto opened = handles_.opened(span_.descriptor(fd), span_.begin_ns, path_of(span_));
    if (!opened)
      return;
    if (change.what == Otf2What::duplicate)
      change.duplicate = opened->handle;
    else
      change.ref = opened->handle;
    put(change);
    if (opened->replaced)
      put({.what = Otf2What::destroy, .ref = *opened->replaced});
  }

  void add_pipe() {
    make(span_.read_fd, {.what = Otf2What::create,
                         .access = OTF2_IO_ACCESS_MODE_READ_ONLY,
                         .status = status_of(span_.flags)});
    make(span_.write_fd, {.what = Otf2What::create,
                          .access = OTF2_IO_ACCESS_MODE_WRITE_ONLY,
                          .status = status_of(span_.flags)});
  }

  void add_duplicate() {
    if (span_.fd != span_.result) // dup2 of a number to itself makes nothing
      make(span_.result,
           {.what = Otf2What::duplicate, .ref = handle(), .status = status_of(span_.flags)});
  }

  void add_close() {
    if (const auto closed = handles_.closed(span_.descriptor(), span_.begin_ns, path_of(span_)))
      put({.what = Otf2What::destroy, .ref = *closed});
  }

  void add_close_range() {
    for (const OTF2_IoHandleRef closed :
         handles_.closed_range(span_.pid, span_.first_fd, span_.last_fd, span_.begin_ns))
      put({.what = Otf2What::destroy, .ref = closed});
  }

  void add_other() {
    if (span_.what == "seek")
      put({.what = Otf2What::seek,
           .ref = handle(),
           .whence = whence_of(span_.whence),
           .offset = span_.position,
           .number = static_cast<std::uint64_t>(span_.result)});
    else if (span_.what == "status")
      put({.what = Otf2What::change_status,
           .ref = handle(),
           .status = status_of(span_.argument & ~std::uint64_t{O_CLOEXEC})});
    else if (span_.what == "close_on_exec")
      put({.what = Otf2What::change_status,
           .ref = handle(),
           .status = has(span_.argument, FD_CLOEXEC) ? OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC
                                                     : OTF2_IO_STATUS_FLAG_NONE});
    else if (span_.what == "delete" && (!span_.deleted.empty() || !span_.path.empty()))
      put({.what = Otf2What::delete_file,
           .ref = archive_.file(span_.deleted.empty() ? span_.path : span_.deleted)});
  }

  void add_lock() {
    const bool is_flock = span_.what == "flock";
    const bool is_shared = is_flock ? has(span_.flags, LOCK_SH) : span_.lock == "F_RDLCK";
    const bool is_release = is_flock ? has(span_.flags, LOCK_UN) : span_.lock == "F_UNLCK";
    const bool is_refused = span_.error == -EAGAIN || span_.error == -EACCES;
    if (span_.error < 0 && (is_release || !is_refused))
      return;
    put({.what = span_.error < 0 ? Otf2What::try_lock
                 : is_release    ? Otf2What::release
                                 : Otf2What::acquire,
         .ref = handle(),
         .lock = static_cast<OTF2_LockType>(is_shared ? OTF2_LOCK_SHARED : OTF2_LOCK_EXCLUSIVE)});
  }

  Otf2Handles& handles_;
  Otf2Archive& archive_;
  const Otf2Span& span_;
  Otf2Location& location_;
};

} // namespace

void add_changes(Otf2Handles& handles, Otf2Archive& archive, const Otf2Span& span,
                 Otf2Location& location) {
  Changes(handles, archive, span, location).add();
}

} // namespace iotrail::output
#endif
