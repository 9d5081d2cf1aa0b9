// SPDX-License-Identifier: BSD-3-Clause
//
// A request of the FUSE protocol as bytes, and the event that it becomes. The bytes come from the kernel; each read of them is
// bounded all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "abi.h"
#include "capture/fuse/node_table.hpp"

namespace iotrail::capture::fuse {

// What the bytes of a request say; `opcode` decides which members have a meaning.
struct Request {
  std::uint64_t unique = 0; // the reply has it too
  std::uint32_t opcode = 0;
  NodeId node = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t tid = 0; // in the pid namespace of the mount; 0: the kernel, or not visible there
  std::uint64_t handle = 0;
  std::int64_t offset = -1;
  std::uint64_t bytes = 0;
  std::uint32_t flags = 0;    // of an open file
  std::uint32_t argument = 0; // as in fuse_request
  std::uint32_t mode = 0;
  std::uint32_t device = 0; // major << 20 | minor
  NodeId to_node = 0;       // directory of the new name; for a copy, the file written
  std::uint64_t to_handle = 0;
  std::int64_t to_offset = -1;
  std::uint32_t changes = 0; // fuse_setattr
  std::uint32_t new_uid = 0;
  std::uint32_t new_gid = 0;
  std::int64_t accessed_ns = 0;
  std::int64_t modified_ns = 0;
  std::string_view name; // in directory `node`, or of an extended attribute; points into the bytes
  std::string_view to_name; // in directory `to_node`, or the content of a symbolic link
};

// nullopt: the bytes are too few for their opcode.
std::optional<Request> read_request(std::span<const std::byte> bytes);

// Whether the kernel expects no reply.
bool has_no_reply(std::uint32_t opcode);

// The entry or the new file in a reply, if this opcode's reply has one.
std::optional<NodeFacts> entry_in_reply(std::uint32_t opcode, std::span<const std::byte> body);

// The result of a successful request, as events have it: bytes moved, a position, the size of an answer, or 0.
std::int64_t result_in_reply(const Request& request, std::span<const std::byte> body);

} // namespace iotrail::capture::fuse
