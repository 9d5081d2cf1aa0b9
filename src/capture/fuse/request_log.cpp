// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/request_log.hpp"

#include <linux/fuse.h>
#include <sys/stat.h>

#include <utility>

#include "base/clock.hpp"

namespace iotrail::capture::fuse {
namespace {

template <class Record> Record with_header(iot_kind kind, const Request& request) {
  Record record{};
  record.event.kind = static_cast<iot_u16>(kind);
  record.event.cpu = IOT_CPU_UNKNOWN;
  record.uid = request.uid;
  record.gid = request.gid;
  record.call = request.opcode;
  return record;
}

template <class Record>
Record transfer_record(iot_kind kind, const Request& request, std::int64_t result) {
  auto record = with_header<Record>(kind, request);
  record.offset = request.offset;
  record.bytes_requested = request.bytes;
  record.result = result;
  record.handle = request.handle;
  record.flags = request.flags;
  return record;
}

iot_fuse_copy copy_record(const Request& request, std::int64_t result) {
  auto record = with_header<iot_fuse_copy>(IOT_KIND_fuse_copy, request);
  record.in_position = request.offset;
  record.out_position = request.to_offset;
  record.bytes_requested = request.bytes;
  record.result = result;
  record.handle = request.handle;
  record.to_handle = request.to_handle;
  record.copy_flags = request.argument;
  return record;
}

iot_fuse_setattr setattr_record(const Request& request, std::int64_t result) {
  auto record = with_header<iot_fuse_setattr>(IOT_KIND_fuse_setattr, request);
  const auto is_set = [&](std::uint32_t bit) { return (request.changes & bit) != 0; };
  record.result = result;
  record.length = is_set(FATTR_SIZE) ? request.bytes : 0;
  record.accessed_ns = is_set(FATTR_ATIME) ? request.accessed_ns : 0;
  record.modified_ns = is_set(FATTR_MTIME) ? request.modified_ns : 0;
  record.changes = request.changes;
  record.mode = is_set(FATTR_MODE) ? request.mode : 0;
  record.new_uid = is_set(FATTR_UID) ? request.new_uid : 0;
  record.new_gid = is_set(FATTR_GID) ? request.new_gid : 0;
  record.by_handle = is_set(FATTR_FH) ? 1 : 0;
  return record;
}

iot_fuse_request other_record(const Request& request, std::int64_t result) {
  auto record = with_header<iot_fuse_request>(IOT_KIND_fuse_request, request);
  record.result = result;
  record.offset = request.offset;
  record.bytes = request.bytes;
  record.handle = request.handle;
  record.flags = request.flags;
  record.argument = request.argument;
  record.mode = request.mode;
  record.device = request.device;
  return record;
}

decltype(QueuedEvent::record) record_of(const Request& request, std::int64_t result) {
  switch (request.opcode) {
  case FUSE_READ:
    return transfer_record<iot_fuse_read>(IOT_KIND_fuse_read, request, result);
  case FUSE_WRITE:
    return transfer_record<iot_fuse_write>(IOT_KIND_fuse_write, request, result);
  case FUSE_COPY_FILE_RANGE:
    return copy_record(request, result);
  case FUSE_SETATTR:
    return setattr_record(request, result);
  default:
    return other_record(request, result);
  }
}

bool names_no_file(std::uint32_t opcode) {
  return opcode == FUSE_INIT || opcode == FUSE_DESTROY || opcode == FUSE_INTERRUPT ||
         opcode == FUSE_BATCH_FORGET || opcode == FUSE_NOTIFY_REPLY;
}

bool may_come_from_fault(std::uint32_t opcode) {
  return opcode == FUSE_READ || opcode == FUSE_WRITE || opcode == FUSE_SETATTR;
}

} // namespace

void RequestLog::name_files(const Request& request) {
  Pending& pending = *pending_;
  if (names_no_file(request.opcode) || request.node == 0)
    return;
  switch (request.opcode) {
  case FUSE_LOOKUP:
  case FUSE_MKNOD:
  case FUSE_MKDIR:
  case FUSE_UNLINK:
  case FUSE_RMDIR:
  case FUSE_CREATE:
  case FUSE_TMPFILE:
    pending.path = nodes_.path(request.node, request.name);
    return; // the file is in the reply, if at all
  case FUSE_SYMLINK:
    pending.path = nodes_.path(request.node, request.name);
    pending.to_path = request.to_name;
    pending.is_to_path_below_root = false;
    return;
  case FUSE_RENAME:
  case FUSE_RENAME2:
    pending.path = nodes_.path(request.node, request.name);
    pending.to_path = nodes_.path(request.to_node, request.to_name);
    return;
  case FUSE_LINK:
    pending.to_path = nodes_.path(request.to_node, request.to_name);
    break;
  case FUSE_COPY_FILE_RANGE:
    pending.to_path = nodes_.path(request.to_node);
    pending.to_file = nodes_.facts(request.to_node);
    break;
  default:
    pending.to_path = request.name; // of an extended attribute
    pending.is_to_path_below_root = false;
  }
  pending.path = nodes_.path(request.node);
  pending.file = nodes_.facts(request.node);
}

void RequestLog::begin(std::span<const std::byte> bytes) {
  const std::uint64_t now_ns = monotonic_ns();
  if (pending_) // its reply was not seen
    finish(IOT_UNFINISHED, now_ns);
  const auto request = read_request(bytes);
  if (!request)
    return;
  pending_.emplace(Pending{.request = *request, .begin_ns = now_ns, .path = {}, .to_path = {}});
  name_files(*request);
  std::optional<rows::processes> program;
  pending_->pid =
      tasks_.process_of(request->tid, now_ns, !may_come_from_fault(request->opcode), &program);
  if (program)
    events_.push(std::move(*program));
  pending_->request.name = {};
  pending_->request.to_name = {};
  if (text_ != nullptr)
    text_->write(pending_->request, pending_->path, pending_->to_path);
  if (has_no_reply(request->opcode))
    finish(0, now_ns);
}

void RequestLog::reply(std::uint64_t unique, int error, std::span<const std::byte> body,
                       const std::function<void()>& send) {
  if (!pending_ || pending_->request.unique != unique)
    return send();
  const std::int64_t result = error != 0 ? error : result_in_reply(pending_->request, body);
  if (error == 0)
    if (const auto entry = entry_in_reply(pending_->request.opcode, body))
      pending_->file = *entry;
  send();
  finish(result, monotonic_ns());
}

void RequestLog::finish(std::int64_t result, std::uint64_t end_ns) {
  Pending& pending = *pending_;
  QueuedEvent event{.record = record_of(pending.request, result),
                    .file = pending.file,
                    .to_file = pending.to_file,
                    .path = std::move(pending.path),
                    .to_path = std::move(pending.to_path),
                    .is_to_path_below_root = pending.is_to_path_below_root};
  std::visit(
      [&](auto& record) {
        record.event.ts_ns = pending.begin_ns;
        record.event.pid = pending.pid;
        record.event.tid = pending.pid == 0 ? 0 : pending.request.tid;
        record.duration_ns = end_ns - pending.begin_ns;
      },
      event.record);
  pending_.reset();
  events_.push(std::move(event));
}

} // namespace iotrail::capture::fuse
