// SPDX-License-Identifier: BSD-3-Clause
//
// An archive of the Open Trace Format 2 while it is written: definitions, each once, and locations
// with their events. The library's errors are kept: finish() returns the first.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace iotrail::output {

// Of events. Enter and IoOperationBegin have them.
enum class Otf2Attribute : std::uint8_t {
  op,
  in,
  layer,
  bytes,
  error,
  path,
  operation,
  cause,
  causes,
  descriptor
};

class Otf2Archive {
public:
  // `path` does not exist: it becomes a directory. The anchor file is trace.otf2.
  static Result<std::unique_ptr<Otf2Archive>> create(const std::filesystem::path& path);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  OTF2_StringRef string(std::string_view text);
  OTF2_RegionRef region(std::string_view layer, const std::string& name, bool is_io);
  OTF2_LocationGroupRef process(std::uint64_t pid, const std::string& name);
  OTF2_IoFileRef file(const std::string& name);
  // A handle that is open from the begin on, or one that an event creates.
  OTF2_IoHandleRef handle(OTF2_IoFileRef file, bool is_kernel, bool is_created,
                          std::string_view name = "");

  // Writes all definitions that are left, then closes. `to_real_ns`, added to the clock of the
  // events, makes the time of day.
  Result<void> finish(std::uint64_t to_real_ns);

  OTF2_Archive* get() { return archive_; }
  OTF2_GlobalDefWriter* definitions() { return definitions_; }
  OTF2_LocationRef new_location() { return locations_++; }
  void saw(std::uint64_t ts_ns);
  void check(OTF2_ErrorCode code);
  bool is_broken() const { return failure_ != OTF2_SUCCESS; }

private:
  Otf2Archive() = default;
  Result<void> open(const std::filesystem::path& path);
  void define_common();

  OTF2_Archive* archive_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  OTF2_ErrorCode failure_ = OTF2_SUCCESS;
  std::map<std::string, OTF2_StringRef, std::less<>> strings_;
  std::map<std::pair<std::string, std::string>, OTF2_RegionRef> regions_;
  std::map<std::uint64_t, OTF2_LocationGroupRef> processes_;
  std::map<std::string, OTF2_IoFileRef> files_;
  OTF2_IoHandleRef handles_ = 0;
  OTF2_LocationRef locations_ = 0;
  std::uint64_t begin_ns_ = UINT64_MAX;
  std::uint64_t end_ns_ = 0;
};

// Attributes of the next event.
class Otf2Attributes {
public:
  explicit Otf2Attributes(Otf2Archive& archive);
  ~Otf2Attributes();
  Otf2Attributes(const Otf2Attributes&) = delete;
  Otf2Attributes& operator=(const Otf2Attributes&) = delete;

  void put(Otf2Attribute attribute, std::uint64_t number);
  void put_signed(Otf2Attribute attribute, std::int64_t number);
  void put(Otf2Attribute attribute, std::string_view text);
  OTF2_AttributeList* get() { return list_; }

private:
  Otf2Archive& archive_;
  OTF2_AttributeList* list_;
};

struct Otf2Operation {
  OTF2_IoHandleRef handle = 0;
  OTF2_IoOperationMode mode = OTF2_IO_OPERATION_MODE_READ;
  std::uint64_t requested = 0;
  std::uint64_t moved = 0;
};

enum class Otf2What : std::uint8_t {
  leave,
  complete,
  create,
  duplicate,
  destroy,
  seek,
  change_status,
  delete_file,
  acquire,
  release,
  try_lock
};

// What a call does to a handle, at its end.
struct Otf2Change {
  Otf2What what;
  std::uint32_t ref = 0; // a region, a handle, or the file to delete
  OTF2_IoHandleRef duplicate = 0;
  OTF2_IoAccessMode access = OTF2_IO_ACCESS_MODE_READ_WRITE;
  OTF2_IoCreationFlag creation = OTF2_IO_CREATION_FLAG_NONE;
  OTF2_IoStatusFlag status = OTF2_IO_STATUS_FLAG_NONE;
  OTF2_IoSeekOption whence = OTF2_IO_SEEK_FROM_START;
  OTF2_LockType lock = OTF2_LOCK_EXCLUSIVE;
  std::int64_t offset = 0;
  std::uint64_t number = 0; // bytes moved, or the new position
  std::uint64_t matching = 0;
};

// A sequence of events. Begins come in the order of time; ends wait until their time has come.
class Otf2Location {
public:
  Otf2Location(Otf2Archive& archive, std::string name, OTF2_LocationGroupRef group);
  ~Otf2Location(); // writes what waits
  Otf2Location(const Otf2Location&) = delete;
  Otf2Location& operator=(const Otf2Location&) = delete;

  void enter(std::uint64_t ts_ns, std::uint64_t end_ns, OTF2_RegionRef region,
             Otf2Attributes& attributes);
  // Within the region just entered, which ends later than it.
  void operate(std::uint64_t ts_ns, std::uint64_t end_ns, const Otf2Operation& operation);
  // Beside others, in no region.
  void operate_beside(std::uint64_t ts_ns, std::uint64_t end_ns, const Otf2Operation& operation,
                      Otf2Attributes& attributes);
  // At the end of the region just entered. Of several with one end, the last comes first.
  void change(std::uint64_t end_ns, const Otf2Change& change);

private:
  struct Waiting {
    std::uint64_t ts_ns;
    std::uint64_t number; // later begins end first
    Otf2Change change;
    bool operator<(const Waiting& other) const { // the top of the queue is the largest
      return std::tie(ts_ns, other.number) > std::tie(other.ts_ns, number);
    }
  };

  void write_until(std::uint64_t ts_ns);
  void write(std::uint64_t ts_ns, const Otf2Change& change);
  OTF2_ErrorCode put(std::uint64_t ts_ns, const Otf2Change& change);

  Otf2Archive& archive_;
  std::string name_;
  OTF2_LocationGroupRef group_;
  OTF2_LocationRef id_;
  OTF2_EvtWriter* writer_;
  std::priority_queue<Waiting> waiting_;
  std::uint64_t numbers_ = 0;
};

} // namespace iotrail::output
