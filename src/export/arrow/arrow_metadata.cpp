// SPDX-License-Identifier: BSD-3-Clause
#include "export/arrow/arrow_metadata.hpp"

#include <flatbuffers/flatbuffers.h>

#include "base/utf8.hpp"
#include "export/arrow/arrow_type.hpp"

namespace iotrail::output {
namespace {

using flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<flatbuffers::Table>;

constexpr std::int16_t kVersion = 4; // V5: Arrow 1.0 and later write it
constexpr std::uint8_t kSchema = 1;  // kinds of messages
constexpr std::uint8_t kBatch = 3;

// The place of a table's field in its list of fields.
constexpr flatbuffers::voffset_t place(unsigned field) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
}

Table end_table(FlatBufferBuilder& to, flatbuffers::uoffset_t begin) {
  return {to.EndTable(begin)};
}

void put_argument(FlatBufferBuilder& to, unsigned field, const ArrowArgument& argument) {
  if (argument.bytes == 1)
    to.AddElement(place(field), static_cast<std::uint8_t>(argument.value), std::uint8_t{});
  else if (argument.bytes == 2)
    to.AddElement(place(field), static_cast<std::int16_t>(argument.value), std::int16_t{});
  else if (argument.bytes == 4)
    to.AddElement(place(field), argument.value, std::int32_t{});
}

Table put_type(FlatBufferBuilder& to, const ArrowType& type) {
  flatbuffers::Offset<flatbuffers::String> zone;
  if (!type.zone.empty())
    zone = to.CreateString(type.zone.data(), type.zone.size());
  const auto begin = to.StartTable();
  for (unsigned i = 0; i < type.arguments.size(); ++i)
    put_argument(to, i, type.arguments[i]);
  if (!zone.IsNull())
    to.AddOffset(place(1), zone);
  return end_table(to, begin);
}

Table put_field(FlatBufferBuilder& to, const ArrowSchema& field) {
  const auto type = arrow_type(field);
  IOTRAIL_CHECK(type.has_value()); // ArrowColumn::make() refuses others
  std::vector<Table> children;
  for (const ArrowSchema* child : std::span(field.children, field.n_children))
    children.push_back(put_field(to, *child));
  const auto name = to.CreateString(as_utf8(field.name));
  const auto arguments = put_type(to, *type);
  const auto of_children = to.CreateVector(children);
  const auto begin = to.StartTable();
  to.AddOffset(place(0), name);
  to.AddElement(place(1), static_cast<std::uint8_t>((field.flags & analysis::kArrowNullable) != 0),
                std::uint8_t{});
  to.AddElement(place(2), type->number, std::uint8_t{});
  to.AddOffset(place(3), arguments);
  to.AddOffset(place(5), of_children);
  return end_table(to, begin);
}

Table put_schema(FlatBufferBuilder& to, const ArrowSchema& schema) {
  to.ForceDefaults(true); // the defaults of Arrow's fields are not those of their types
  std::vector<Table> fields;
  for (const ArrowSchema* column : std::span(schema.children, schema.n_children))
    fields.push_back(put_field(to, *column));
  const auto of_fields = to.CreateVector(fields);
  const auto begin = to.StartTable();
  to.AddElement(place(0), std::int16_t{0}, std::int16_t{}); // little-endian
  to.AddOffset(place(1), of_fields);
  return end_table(to, begin);
}

std::string finished(FlatBufferBuilder& to, Table root) {
  to.Finish(root);
  return {reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize()};
}

std::string message(FlatBufferBuilder& to, std::uint8_t kind, Table header,
                    std::int64_t body_bytes) {
  const auto begin = to.StartTable();
  to.AddElement(place(0), kVersion, std::int16_t{});
  to.AddElement(place(1), kind, std::uint8_t{});
  to.AddOffset(place(2), header);
  to.AddElement(place(3), body_bytes, std::int64_t{});
  return finished(to, end_table(to, begin));
}

} // namespace

std::string arrow_schema_message(const ArrowSchema& schema) {
  FlatBufferBuilder to;
  return message(to, kSchema, put_schema(to, schema), 0);
}

std::string arrow_batch_message(const ArrowBatch& batch) {
  FlatBufferBuilder to;
  to.ForceDefaults(true);
  const auto nodes = to.CreateVectorOfStructs(batch.nodes);
  const auto buffers = to.CreateVectorOfStructs(batch.buffers);
  const auto begin = to.StartTable();
  to.AddElement(place(0), batch.rows, std::int64_t{});
  to.AddOffset(place(1), nodes);
  to.AddOffset(place(2), buffers);
  return message(to, kBatch, end_table(to, begin), batch.body_bytes);
}

std::string arrow_footer(const ArrowSchema& schema, std::span<const ArrowBlock> blocks) {
  FlatBufferBuilder to;
  const auto of_schema = put_schema(to, schema);
  const auto batches = to.CreateVectorOfStructs(blocks.data(), blocks.size());
  const auto begin = to.StartTable();
  to.AddElement(place(0), kVersion, std::int16_t{});
  to.AddOffset(place(1), of_schema);
  to.AddOffset(place(3), batches);
  return finished(to, end_table(to, begin));
}

} // namespace iotrail::output
