// SPDX-License-Identifier: BSD-3-Clause
#ifdef IOTRAIL_HAS_OTF2
#include "export/otf2/otf2_archive.hpp"

#include <sys/utsname.h>

#include <fmt/format.h>

namespace iotrail::output {
namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;
constexpr const char* kArchiveName = "trace";
constexpr OTF2_IoParadigmRef kOtf2Posix = 0;
constexpr OTF2_IoParadigmRef kOtf2Block = 1;

struct AttributeName {
  const char* name;
  const char* doc;
  OTF2_Type type;
};

constexpr AttributeName kOtf2Attributes[] = {
    {"op", "Operation of iotrail: the same in all layers, and at devices.", OTF2_TYPE_UINT64},
    {"in", "Operation in which, or for which, that one began.", OTF2_TYPE_UINT64},
    {"layer", "Layer of the event.", OTF2_TYPE_STRING},
    {"bytes", "Bytes moved.", OTF2_TYPE_UINT64},
    {"error", "Negative errno.", OTF2_TYPE_INT64},
    {"path", "File.", OTF2_TYPE_STRING},
    {"operation", "What a request of a device does.", OTF2_TYPE_STRING},
    {"cause", "Operation that caused a request, the one with the smallest number.",
     OTF2_TYPE_UINT64},
    {"causes", "How many operations caused a request.", OTF2_TYPE_UINT64},
    {"fd", "Descriptor.", OTF2_TYPE_UINT64},
};

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

// The library would print each error; finish() returns the first one.
OTF2_ErrorCode be_silent(void*, const char*, uint64_t, const char*, OTF2_ErrorCode code,
                         const char*, va_list) {
  return code;
}

std::uint32_t id_of(Otf2Attribute attribute) {
  return static_cast<std::uint32_t>(attribute);
}

} // namespace

Result<std::unique_ptr<Otf2Archive>> Otf2Archive::create(const std::filesystem::path& path) {
  std::unique_ptr<Otf2Archive> archive(new Otf2Archive);
  if (auto opened = archive->open(path); !opened)
    return std::unexpected(opened.error());
  return archive;
}

Result<void> Otf2Archive::open(const std::filesystem::path& path) {
  OTF2_Error_RegisterCallback(be_silent, nullptr);
  archive_ = OTF2_Archive_Open(path.c_str(), kArchiveName, OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                               OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX,
                               OTF2_COMPRESSION_NONE);
  if (archive_ == nullptr)
    return fail("cannot create the archive", "its library refuses the directory");
  static constexpr OTF2_FlushCallbacks kFlush = {flush_always, nullptr};
  check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  check(OTF2_Archive_SetCreator(archive_, "iotrail"));
  check(OTF2_Archive_OpenEvtFiles(archive_));
  check(OTF2_Archive_OpenDefFiles(archive_));
  definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (definitions_ == nullptr)
    return fail("cannot create the archive", "its library makes no definitions");
  define_common();
  return {};
}

void Otf2Archive::define_common() {
  for (std::size_t i = 0; i < std::size(kOtf2Attributes); ++i)
    check(OTF2_GlobalDefWriter_WriteAttribute(
        definitions_, static_cast<OTF2_AttributeRef>(i), string(kOtf2Attributes[i].name),
        string(kOtf2Attributes[i].doc), kOtf2Attributes[i].type));
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, string("recorded machine"),
                                                 string("node"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  check(OTF2_GlobalDefWriter_WriteIoParadigm(
      definitions_, kOtf2Posix, string("POSIX"), string("POSIX I/O"), OTF2_IO_PARADIGM_CLASS_SERIAL,
      OTF2_IO_PARADIGM_FLAG_OS, 0, nullptr, nullptr, nullptr));
  check(OTF2_GlobalDefWriter_WriteIoParadigm(
      definitions_, kOtf2Block, string("BLOCK"), string("requests of block devices"),
      OTF2_IO_PARADIGM_CLASS_SERIAL, OTF2_IO_PARADIGM_FLAG_OS, 0, nullptr, nullptr, nullptr));
}

Otf2Archive::~Otf2Archive() {
  if (archive_ != nullptr)
    OTF2_Archive_Close(archive_);
}

void Otf2Archive::check(OTF2_ErrorCode code) {
  if (failure_ == OTF2_SUCCESS)
    failure_ = code;
}

void Otf2Archive::saw(std::uint64_t ts_ns) {
  begin_ns_ = std::min(begin_ns_, ts_ns);
  end_ns_ = std::max(end_ns_, ts_ns);
}

OTF2_StringRef Otf2Archive::string(std::string_view text) {
  const auto known = strings_.find(text);
  if (known != strings_.end())
    return known->second;
  const auto id = static_cast<OTF2_StringRef>(strings_.size());
  const auto made = strings_.emplace(text, id).first;
  check(OTF2_GlobalDefWriter_WriteString(definitions_, id, made->first.c_str()));
  return id;
}

OTF2_RegionRef Otf2Archive::region(std::string_view layer, const std::string& name, bool is_io) {
  const auto id = static_cast<OTF2_RegionRef>(regions_.size());
  const auto [known, is_new] = regions_.try_emplace({std::string(layer), name}, id);
  if (!is_new)
    return known->second;
  check(OTF2_GlobalDefWriter_WriteRegion(
      definitions_, id, string(name), string(name), string(fmt::format("layer {}", layer)),
      is_io ? OTF2_REGION_ROLE_FILE_IO : OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_UNKNOWN,
      OTF2_REGION_FLAG_NONE, string(layer), 0, 0));
  return id;
}

OTF2_LocationGroupRef Otf2Archive::process(std::uint64_t pid, const std::string& name) {
  const auto id = static_cast<OTF2_LocationGroupRef>(processes_.size());
  const auto [known, is_new] = processes_.try_emplace(pid, id);
  if (is_new)
    check(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, id, string(name),
                                                  OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
  return known->second;
}

OTF2_IoFileRef Otf2Archive::file(const std::string& name) {
  const auto id = static_cast<OTF2_IoFileRef>(files_.size());
  const auto [known, is_new] = files_.try_emplace(name, id);
  if (is_new)
    check(OTF2_GlobalDefWriter_WriteIoRegularFile(definitions_, id, string(name), 0));
  return known->second;
}

OTF2_IoHandleRef Otf2Archive::handle(OTF2_IoFileRef file, bool is_kernel, bool is_created,
                                     std::string_view name) {
  const OTF2_IoHandleRef id = handles_++;
  check(OTF2_GlobalDefWriter_WriteIoHandle(
      definitions_, id, string(name), file, is_kernel ? kOtf2Block : kOtf2Posix,
      is_created ? OTF2_IO_HANDLE_FLAG_NONE : OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_UNDEFINED_COMM,
      OTF2_UNDEFINED_IO_HANDLE));
  if (!is_created)
    check(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
        definitions_, id, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE));
  return id;
}

Result<void> Otf2Archive::finish(std::uint64_t to_real_ns) {
  begin_ns_ = std::min(begin_ns_, end_ns_); // an empty trace has seen no time
  check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, kTicksPerSecond, begin_ns_,
                                                  end_ns_ - begin_ns_ + 1, begin_ns_ + to_real_ns));
  check(OTF2_Archive_CloseEvtFiles(archive_));
  check(OTF2_Archive_CloseDefFiles(archive_));
  check(OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_));
  check(OTF2_Archive_Close(std::exchange(archive_, nullptr)));
  if (failure_ != OTF2_SUCCESS)
    return fail(
        "cannot write the archive",
        fmt::format("{} ({})", OTF2_Error_GetDescription(failure_), OTF2_Error_GetName(failure_)));
  return {};
}

Otf2Attributes::Otf2Attributes(Otf2Archive& archive)
    : archive_(archive), list_(OTF2_AttributeList_New()) {}

Otf2Attributes::~Otf2Attributes() {
  OTF2_AttributeList_Delete(list_);
}

void Otf2Attributes::put(Otf2Attribute attribute, std::uint64_t number) {
  archive_.check(OTF2_AttributeList_AddUint64(list_, id_of(attribute), number));
}

void Otf2Attributes::put_signed(Otf2Attribute attribute, std::int64_t number) {
  archive_.check(OTF2_AttributeList_AddInt64(list_, id_of(attribute), number));
}

void Otf2Attributes::put(Otf2Attribute attribute, std::string_view text) {
  archive_.check(OTF2_AttributeList_AddStringRef(list_, id_of(attribute), archive_.string(text)));
}

Otf2Location::Otf2Location(Otf2Archive& archive, std::string name, OTF2_LocationGroupRef group)
    : archive_(archive), name_(std::move(name)), group_(group), id_(archive.new_location()),
      writer_(OTF2_Archive_GetEvtWriter(archive.get(), id_)) {
  if (writer_ == nullptr)
    archive_.check(OTF2_ERROR_MEM_ALLOC_FAILED);
}

Otf2Location::~Otf2Location() {
  if (writer_ == nullptr)
    return;
  write_until(UINT64_MAX);
  std::uint64_t events = 0;
  archive_.check(OTF2_EvtWriter_GetNumberOfEvents(writer_, &events));
  archive_.check(OTF2_Archive_CloseEvtWriter(archive_.get(), writer_));
  OTF2_DefWriter* local = OTF2_Archive_GetDefWriter(archive_.get(), id_);
  archive_.check(local == nullptr ? OTF2_ERROR_MEM_ALLOC_FAILED
                                  : OTF2_Archive_CloseDefWriter(archive_.get(), local));
  archive_.check(OTF2_GlobalDefWriter_WriteLocation(archive_.definitions(), id_,
                                                    archive_.string(name_),
                                                    OTF2_LOCATION_TYPE_CPU_THREAD, events, group_));
}

void Otf2Location::change(std::uint64_t end_ns, const Otf2Change& change) {
  waiting_.push({end_ns, numbers_++, change});
}

void Otf2Location::write_until(std::uint64_t ts_ns) {
  while (!waiting_.empty() && waiting_.top().ts_ns <= ts_ns) {
    write(waiting_.top().ts_ns, waiting_.top().change);
    waiting_.pop();
  }
}

void Otf2Location::write(std::uint64_t ts_ns, const Otf2Change& change) {
  archive_.saw(ts_ns);
  archive_.check(put(ts_ns, change));
}

OTF2_ErrorCode Otf2Location::put(std::uint64_t ts_ns, const Otf2Change& change) {
  using enum Otf2What;
  switch (change.what) {
  case leave:
    return OTF2_EvtWriter_Leave(writer_, nullptr, ts_ns, change.ref);
  case complete:
    return OTF2_EvtWriter_IoOperationComplete(writer_, nullptr, ts_ns, change.ref, change.number,
                                              change.matching);
  case create:
    return OTF2_EvtWriter_IoCreateHandle(writer_, nullptr, ts_ns, change.ref, change.access,
                                         change.creation, change.status);
  case duplicate:
    return OTF2_EvtWriter_IoDuplicateHandle(writer_, nullptr, ts_ns, change.ref, change.duplicate,
                                            change.status);
  case destroy:
    return OTF2_EvtWriter_IoDestroyHandle(writer_, nullptr, ts_ns, change.ref);
  case seek:
    return OTF2_EvtWriter_IoSeek(writer_, nullptr, ts_ns, change.ref, change.offset, change.whence,
                                 change.number);
  case change_status:
    return OTF2_EvtWriter_IoChangeStatusFlags(writer_, nullptr, ts_ns, change.ref, change.status);
  case delete_file:
    return OTF2_EvtWriter_IoDeleteFile(writer_, nullptr, ts_ns, kOtf2Posix, change.ref);
  case acquire:
    return OTF2_EvtWriter_IoAcquireLock(writer_, nullptr, ts_ns, change.ref, change.lock);
  case release:
    return OTF2_EvtWriter_IoReleaseLock(writer_, nullptr, ts_ns, change.ref, change.lock);
  case try_lock:
    return OTF2_EvtWriter_IoTryLock(writer_, nullptr, ts_ns, change.ref, change.lock);
  }
  return OTF2_SUCCESS;
}

void Otf2Location::enter(std::uint64_t ts_ns, std::uint64_t end_ns, OTF2_RegionRef region,
                         Otf2Attributes& attributes) {
  if (writer_ == nullptr)
    return;
  write_until(ts_ns);
  archive_.saw(ts_ns);
  archive_.check(OTF2_EvtWriter_Enter(writer_, attributes.get(), ts_ns, region));
  change(end_ns, {.what = Otf2What::leave, .ref = region});
}

void Otf2Location::operate(std::uint64_t ts_ns, std::uint64_t end_ns,
                           const Otf2Operation& operation) {
  if (writer_ == nullptr)
    return;
  const std::uint64_t matching = numbers_;
  archive_.check(OTF2_EvtWriter_IoOperationBegin(writer_, nullptr, ts_ns, operation.handle,
                                                 operation.mode, OTF2_IO_OPERATION_FLAG_NONE,
                                                 operation.requested, matching));
  change(end_ns, {.what = Otf2What::complete,
                  .ref = operation.handle,
                  .number = operation.moved,
                  .matching = matching});
}

void Otf2Location::operate_beside(std::uint64_t ts_ns, std::uint64_t end_ns,
                                  const Otf2Operation& operation, Otf2Attributes& attributes) {
  if (writer_ == nullptr)
    return;
  write_until(ts_ns);
  archive_.saw(ts_ns);
  const std::uint64_t matching = numbers_;
  archive_.check(OTF2_EvtWriter_IoOperationBegin(
      writer_, attributes.get(), ts_ns, operation.handle, operation.mode,
      OTF2_IO_OPERATION_FLAG_NON_BLOCKING, operation.requested, matching));
  archive_.check(
      OTF2_EvtWriter_IoOperationIssued(writer_, nullptr, ts_ns, operation.handle, matching));
  change(end_ns, {.what = Otf2What::complete,
                  .ref = operation.handle,
                  .number = operation.moved,
                  .matching = matching});
}

} // namespace iotrail::output
#endif
