// SPDX-License-Identifier: BSD-3-Clause
#include "store/column.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace iotrail::store {
namespace {

using Word = std::uint64_t;

// Encodings are compared on so many rows from the middle of the block: the choice costs little and is seldom wrong.
constexpr std::size_t kSampleRows = 256;

// In pieces, each without a branch inside: the compiler makes vector code of it, and most columns end at the first.
template <class Differs> bool all_same(std::size_t rows, Differs differs) {
  for (std::size_t first = 0; first < rows; first += kFrameValues) {
    const std::size_t end = std::min(rows, first + kFrameValues);
    Word difference = 0;
    for (std::size_t i = first; i < end; ++i)
      difference |= differs(i);
    if (difference != 0)
      return false;
  }
  return true;
}

bool is_constant(NumbersView values) {
  return all_same(values.size(),
                  [values, first = values[0]](std::size_t i) { return values[i] ^ first; });
}

bool are_equal(NumbersView a, NumbersView b) {
  return a.size() == b.size() && all_same(a.size(), [a, b](std::size_t i) { return a[i] ^ b[i]; });
}

bool is_linear(NumbersView values) {
  const Word step = values[1] - values[0];
  for (std::size_t i = 2; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step)
      return false;
  return true;
}

// Open addressing over the few values of a table.
class TableBuilder {
public:
  // Fails as soon as there are more distinct values than a table may have or is worth.
  bool build(NumbersView values, ColumnPlan& plan) {
    const std::size_t limit = std::min(kTableEntriesMax, values.size() / 8);
    plan.slots.resize(values.size());
    buckets_.fill(kEmpty);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t slot = i > 0 && values[i] == values[i - 1]
                                   ? plan.slots[i - 1]
                                   : find_or_insert(values[i], plan.table);
      if (slot >= limit)
        return reset(plan);
      plan.slots[i] = static_cast<std::uint8_t>(slot);
    }
    plan.encoding = Encoding::table;
    return true;
  }

private:
  static constexpr std::uint16_t kEmpty = 0xffff;
  static constexpr std::size_t kBuckets = 1024;

  std::size_t find_or_insert(Word value, std::vector<Word>& table) {
    std::size_t bucket = (value * 0x9e3779b97f4a7c15U) >> 54U;
    static_assert(kBuckets == std::size_t{1} << (64U - 54U));
    while (buckets_[bucket] != kEmpty) {
      if (table[buckets_[bucket]] == value)
        return buckets_[bucket];
      bucket = (bucket + 1) % kBuckets;
    }
    buckets_[bucket] = static_cast<std::uint16_t>(table.size());
    table.push_back(value);
    return table.size() - 1;
  }

  static bool reset(ColumnPlan& plan) {
    plan.table.clear();
    plan.slots.clear();
    return false;
  }

  std::array<std::uint16_t, kBuckets> buckets_{};
};

// Each transformation writes values.size() words to `out`; the first of a delta is 0, the value itself is stored apart.
void to_delta(NumbersView values, std::span<Word> out) {
  out[0] = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    out[i] = values[i] - values[i - 1];
}

void to_difference(NumbersView values, NumbersView reference, std::span<Word> out) {
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = values[i] - reference[i];
}

// Differences to the last row with the same slot; `firsts` collects the value of each slot's first row, where the
// difference is 0.
void to_keyed(NumbersView values, std::span<const std::uint8_t> slots, std::span<Word> out,
              std::array<Word, kTableEntriesMax>& firsts) {
  std::array<Word, kTableEntriesMax> last{};
  std::array<bool, kTableEntriesMax> seen{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t slot = slots[i];
    if (!seen[slot]) {
      seen[slot] = true;
      firsts[slot] = last[slot] = values[i];
    }
    out[i] = values[i] - last[slot];
    last[slot] = values[i];
  }
}

class Planner {
public:
  explicit Planner(std::span<const NumbersView> columns)
      : columns_(columns), plans_(columns.size()), is_leaned_on_(columns.size()) {}

  std::vector<ColumnPlan> run() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!settle(i))
        open.push_back(i);
    for (const std::size_t i : open)
      choose_by_sample(i);
    return std::move(plans_);
  }

private:
  struct Candidate {
    Encoding encoding;
    std::uint16_t reference;
    PackedChoice choice;
  };

  // What can be told with certainty, cheapest first. False: it takes a comparison.
  bool settle(std::size_t i) {
    const NumbersView values = columns_[i];
    ColumnPlan& plan = plans_[i];
    plan.encoding = Encoding::packed;
    if (values.empty()) {
      plan.encoding = Encoding::text;
    } else if (is_constant(values)) {
      plan.encoding = Encoding::constant;
    } else if (is_linear(values)) {
      plan.encoding = Encoding::linear;
    } else if (i > 0 && !leans_on_another(plans_[i - 1].encoding) &&
               are_equal(values, columns_[i - 1])) {
      lean(i, Encoding::difference, i - 1);
    } else {
      return table_builder_.build(values, plan);
    }
    return true;
  }

  void lean(std::size_t i, Encoding encoding, std::size_t reference) {
    plans_[i].encoding = encoding;
    plans_[i].reference = static_cast<std::uint16_t>(reference);
    is_leaned_on_[reference] = 1;
  }

  void choose_by_sample(std::size_t i) {
    const std::size_t rows = columns_[i].size();
    const std::size_t count = std::min(rows, kSampleRows);
    const std::size_t first = (rows - count) / 2;
    const NumbersView sample = columns_[i].subspan(first, count);
    const std::span<Word> out = std::span(scratch_).first(count);

    Candidate best{Encoding::packed, 0, choose_form(sample)};
    const auto offer = [&](Encoding encoding, std::size_t reference) {
      const PackedChoice choice = choose_form(out);
      if (choice.bits < best.choice.bits)
        best = {encoding, static_cast<std::uint16_t>(reference), choice};
    };
    to_delta(sample, out);
    offer(Encoding::delta, 0);
    if (!is_leaned_on_[i]) {
      if (i > 0 && stands_alone(i - 1)) {
        to_difference(sample, columns_[i - 1].subspan(first, count), out);
        offer(Encoding::difference, i - 1);
      }
      for (std::size_t key = 0; key < columns_.size(); ++key) {
        if (plans_[key].encoding != Encoding::table)
          continue;
        to_keyed(sample, std::span(plans_[key].slots).subspan(first, count), out, firsts_);
        offer(Encoding::keyed, key);
      }
    }
    if (leans_on_another(best.encoding))
      lean(i, best.encoding, best.reference);
    plans_[i].encoding = best.encoding;
    plans_[i].form = best.choice.form;
  }

  bool stands_alone(std::size_t i) const {
    return plans_[i].encoding != Encoding::text && !leans_on_another(plans_[i].encoding);
  }

  std::span<const NumbersView> columns_;
  std::vector<ColumnPlan> plans_;
  std::vector<std::uint8_t> is_leaned_on_;
  TableBuilder table_builder_;
  std::array<Word, kSampleRows> scratch_{};
  std::array<Word, kTableEntriesMax> firsts_{};
};

void write_signed(Word value, ByteWriter& out) {
  out.varint(zigzag(static_cast<std::int64_t>(value)));
}
Word read_signed(ByteReader& in) {
  return static_cast<Word>(unzigzag(in.varint()));
}

// The sample's base is good for the sample; all rows together may reach below it.
void write_transformed(std::span<Word> values, PackedForm form, ByteWriter& out) {
  if (!form.zigzag)
    form.base = static_cast<Word>(
        std::ranges::min(values, {}, [](Word value) { return static_cast<std::int64_t>(value); }));
  write_packed(values, form, out);
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

std::vector<ColumnPlan> plan_columns(std::span<const NumbersView> columns) {
  return Planner(columns).run();
}

void write_numbers(std::span<const NumbersView> columns, std::span<const ColumnPlan> plans,
                   std::size_t column, std::vector<Word>& scratch, ByteWriter& out) {
  const NumbersView values = columns[column];
  const ColumnPlan& plan = plans[column];
  scratch.resize(values.size());
  switch (plan.encoding) {
  case Encoding::constant:
    return write_signed(values[0], out);
  case Encoding::linear:
    write_signed(values[0], out);
    return write_signed(values[1] - values[0], out);
  case Encoding::packed:
    std::ranges::copy(values, scratch.begin());
    break;
  case Encoding::delta:
    write_signed(values[0], out);
    to_delta(values, scratch);
    return write_transformed(std::span(scratch).subspan(1), plan.form, out);
  case Encoding::table:
    out.varint(plan.table.size());
    for (const Word value : plan.table)
      write_signed(value, out);
    std::ranges::copy(plan.slots, scratch.begin());
    return write_packed(scratch, {}, out); // the first row's slot is 0, and so is the base
  case Encoding::keyed: {
    const ColumnPlan& key = plans[plan.reference];
    std::array<Word, kTableEntriesMax> firsts{};
    to_keyed(values, key.slots, scratch, firsts);
    for (std::size_t i = 0; i < key.table.size(); ++i)
      write_signed(firsts[i], out);
    break;
  }
  case Encoding::difference:
    to_difference(values, columns[plan.reference], scratch);
    break;
  case Encoding::text:
    return;
  }
  write_transformed(scratch, plan.form, out);
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
    const ByteSpan text = in.take(in.varint());
    out.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return in.ok();
}

} // namespace iotrail::store
