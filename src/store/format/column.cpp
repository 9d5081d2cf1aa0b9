// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/column.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "store/format/layout.hpp"

namespace iotrail::store {
namespace {

using Word = std::uint64_t;

void write_signed(Word value, ByteWriter& out) {
  out.varint(zigzag(static_cast<std::int64_t>(value)));
}
Word read_signed(ByteReader& in) {
  return static_cast<Word>(unzigzag(in.varint()));
}

// Packs `value(i)` for each i below `count`, in order. The base need not be the smallest value: a
// smaller one shows as negative, rarely once the base was right for a block.
template <class Value>
void write_packed(std::size_t count, Value value, ColumnPlan& plan, Packer& packer,
                  ByteWriter& out) {
  constexpr Word kSign = Word{1} << 63U;
  PackedForm& form = plan.form;
  const auto fill_above_base = [&] {
    packer.fill(count,
                [from = value, base = form.base](std::size_t i) mutable { return from(i) - base; });
  };
  if (form.zigzag || plan.is_base_exact)
    fill_above_base();
  if (!form.zigzag && (!plan.is_base_exact || (packer.bits_used() & kSign) != 0)) {
    packer.fill(count, value);
    form.base = packer.min();
    plan.is_base_exact = true;
    fill_above_base();
  }
  packer.write(form, out);
}

void write_table(const ColumnPlan& plan, Packer& packer, ByteWriter& out) {
  out.varint(plan.table.size());
  for (const Word value : plan.table)
    write_signed(value, out);
  packer.write_bytes(plan.slots, out);
}

void write_keyed(NumbersView values, ColumnPlan& plan, const ColumnPlan& key, Packer& packer,
                 ByteWriter& out) {
  std::array<Word, kTableEntriesMax> last{};
  for (std::size_t slot = 0; slot < key.table.size(); ++slot) {
    last[slot] = values[key.first_rows[slot]];
    write_signed(last[slot], out);
  }
  const auto difference = [last, values, slots = key.slots.data()](std::size_t i) mutable {
    const Word value = values[i];
    return value - std::exchange(last[slots[i]], value);
  };
  write_packed(values.size(), difference, plan, packer, out);
}

bool read_table(ByteReader& in, std::size_t rows, DecodedNumbers& out) {
  const std::uint64_t entries = in.varint();
  if (entries == 0 || entries > kTableEntriesMax)
    return false;
  std::array<Word, kTableEntriesMax> table{};
  for (std::size_t i = 0; i < entries; ++i)
    table[i] = read_signed(in);
  read_packed(in, out.values);
  out.table_entries = entries;
  out.slots.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (out.values[i] >= entries)
      return false;
    out.slots[i] = static_cast<std::uint8_t>(out.values[i]);
    out.values[i] = table[out.slots[i]];
  }
  return in.ok();
}

bool read_keyed(ByteReader& in, const DecodedNumbers& reference, std::span<Word> values) {
  if (reference.slots.size() != values.size())
    return false;
  std::array<Word, kTableEntriesMax> last{};
  for (std::size_t i = 0; i < reference.table_entries; ++i)
    last[i] = read_signed(in);
  read_packed(in, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = last[reference.slots[i]] += values[i];
  return in.ok();
}

} // namespace

void write_numbers(std::span<const NumbersView> columns, std::span<ColumnPlan> plans,
                   std::size_t column, Packer& packer, ByteWriter& out) {
  const NumbersView values = columns[column];
  const Word* at = values.data();
  ColumnPlan& plan = plans[column];
  switch (plan.encoding) {
  case Encoding::constant:
    return write_signed(values[0], out);
  case Encoding::linear:
    write_signed(values[0], out);
    return write_signed(values[1] - values[0], out);
  case Encoding::packed:
    return write_packed(values.size(), [at](std::size_t i) { return at[i]; }, plan, packer, out);
  case Encoding::delta:
    write_signed(values[0], out);
    return write_packed(
        values.size() - 1, [at](std::size_t i) { return at[i + 1] - at[i]; }, plan, packer, out);
  case Encoding::table:
    return write_table(plan, packer, out);
  case Encoding::keyed:
    return write_keyed(values, plan, plans[plan.reference], packer, out);
  case Encoding::difference:
    return write_packed(
        values.size(),
        [at, reference = columns[plan.reference].data()](std::size_t i) {
          return at[i] - reference[i];
        },
        plan, packer, out);
  case Encoding::text:
    return;
  }
}

void write_texts(std::span<const std::string> texts, ByteWriter& out) {
  for (const std::string& text : texts) {
    out.varint(text.size());
    out.append(text);
  }
}

bool read_numbers(Encoding encoding, ByteSpan bytes, std::size_t rows,
                  const DecodedNumbers* reference, DecodedNumbers& out) {
  if (leans_on_another(encoding) && (!reference || reference->values.size() != rows))
    return false;
  ByteReader in(bytes);
  out.values.resize(rows);
  const std::span<Word> values = out.values;
  if (rows == 0)
    return true;
  switch (encoding) {
  case Encoding::constant:
    std::ranges::fill(values, read_signed(in));
    break;
  case Encoding::linear: {
    const Word first = read_signed(in);
    const Word step = read_signed(in);
    for (std::size_t i = 0; i < rows; ++i)
      values[i] = first + i * step;
    break;
  }
  case Encoding::packed:
    read_packed(in, values);
    break;
  case Encoding::delta:
    values[0] = read_signed(in);
    read_packed(in, values.subspan(1));
    for (std::size_t i = 1; i < rows; ++i)
      values[i] += values[i - 1];
    break;
  case Encoding::table:
    return read_table(in, rows, out);
  case Encoding::keyed:
    return read_keyed(in, *reference, values);
  case Encoding::difference:
    read_packed(in, values);
    for (std::size_t i = 0; i < rows; ++i)
      values[i] += reference->values[i];
    break;
  default:
    return false;
  }
  return in.ok();
}

bool read_texts(ByteSpan bytes, std::size_t rows, std::vector<std::string>& out) {
  ByteReader in(bytes);
  out.clear();
  out.reserve(std::min(rows, bytes.size()));
  for (std::size_t i = 0; i < rows && in.ok(); ++i) {
    const std::uint64_t length = in.varint();
    if (length > kTextBytesMax)
      return false;
    const ByteSpan text = in.take(length);
    out.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return in.ok();
}

} // namespace iotrail::store
