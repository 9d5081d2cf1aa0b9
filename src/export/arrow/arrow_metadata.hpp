// SPDX-License-Identifier: BSD-3-Clause
//
// What Arrow's files say about their values: tables of flatbuffers, with the numbers of Arrow's
// documents. Each function returns a whole one. The schema has only types that ArrowColumn::make()
// takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/arrow_interface.hpp"
#include "export/arrow/arrow_column.hpp"

namespace iotrail::output {

// A part of a body, from its begin on; laid out as files have it.
struct ArrowBuffer {
  std::int64_t offset;
  std::int64_t bytes;
};

// Where a batch is in the file; laid out as files have it.
struct ArrowBlock {
  std::int64_t offset;
  std::int32_t metadata_bytes;
  std::int32_t unused;
  std::int64_t body_bytes;
};

struct ArrowBatch {
  std::int64_t rows = 0;
  std::vector<ArrowNode> nodes{};
  std::vector<ArrowBuffer> buffers{};
  std::int64_t body_bytes = 0;
};

// `schema` is a structure with the columns as children.
std::string arrow_schema_message(const ArrowSchema& schema);
std::string arrow_batch_message(const ArrowBatch& batch);
std::string arrow_footer(const ArrowSchema& schema, std::span<const ArrowBlock> blocks);

} // namespace iotrail::output
