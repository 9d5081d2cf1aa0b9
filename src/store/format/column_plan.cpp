// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses an encoding for each column of a block.
#include "store/format/column.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace iotrail::store {
namespace {

using Word = std::uint64_t;

// The encodings are compared on this many rows from the middle of the block. That is cheap and
// rarely wrong.
constexpr std::size_t kSampleRows = 256;

// Plans are made anew after this many blocks, or after a block with rows that are larger by a
// tenth.
constexpr unsigned kPlannedBlocks = 16;
constexpr std::size_t kGrowthPart = 10;

// Compares in pieces without a branch inside, so that the compiler vectorizes them. Most columns
// differ in the first piece.
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

// A hash table with open addressing, for the few values of a table.
class TableBuilder {
public:
  // Fails at the first distinct value beyond the limit of a table, or beyond what saves space.
  bool build(NumbersView values, ColumnPlan& plan) {
    limit_ = std::min(kTableEntriesMax, values.size() / 8);
    if (limit_ == 0)
      return false;
    start(values[0], plan);
    plan.slots.resize(values.size());
    std::uint8_t* __restrict slots = plan.slots.data();
    const Word* from = values.data();
    const std::size_t rows = values.size();
#pragma GCC unroll 4
    for (std::size_t i = 0; i < rows; ++i) {
      const Word value = from[i];
      const std::size_t slot = buckets_[bucket_of(value)];
      if (table_[slot] == value) [[likely]] {
        slots[i] = static_cast<std::uint8_t>(slot);
        continue;
      }
      const std::size_t other = find_or_insert(value, i, plan);
      if (other == limit_)
        return false;
      slots[i] = static_cast<std::uint8_t>(other);
    }
    plan.table.assign(table_.begin(), table_.begin() + static_cast<std::ptrdiff_t>(entries_));
    plan.encoding = Encoding::table;
    return true;
  }

private:
  static constexpr std::size_t kBuckets = 1024;

  static std::size_t bucket_of(Word value) {
    static_assert(kBuckets == std::size_t{1} << (64U - 54U));
    return (value * 0x9e3779b97f4a7c15U) >> 54U;
  }

  // A bucket with slot 0 is empty, except the bucket of slot 0 itself.
  void start(Word value, ColumnPlan& plan) {
    buckets_.fill(0);
    bucket_of_first_ = bucket_of(value);
    table_[0] = value;
    entries_ = 1;
    plan.first_rows.assign(1, 0);
  }

  // Returns the slot of the value; `limit_`: the table is full.
  [[gnu::noinline]] std::size_t find_or_insert(Word value, std::size_t row, ColumnPlan& plan) {
    std::size_t bucket = bucket_of(value);
    for (; buckets_[bucket] != 0 || bucket == bucket_of_first_; bucket = (bucket + 1) % kBuckets)
      if (table_[buckets_[bucket]] == value)
        return buckets_[bucket];
    if (entries_ == limit_)
      return limit_;
    buckets_[bucket] = static_cast<std::uint8_t>(entries_);
    table_[entries_] = value;
    plan.first_rows.push_back(static_cast<std::uint32_t>(row));
    return entries_++;
  }

  std::array<std::uint8_t, kBuckets> buckets_{};
  std::array<Word, kTableEntriesMax> table_{};
  std::size_t entries_ = 0;
  std::size_t limit_ = 0;
  std::size_t bucket_of_first_ = 0;
};

// Apply the transformations to a sample. The first value of a delta is 0, since it is stored
// separately.
void to_delta(NumbersView values, std::span<Word> out) {
  out[0] = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    out[i] = values[i] - values[i - 1];
}

void to_difference(NumbersView values, NumbersView reference, std::span<Word> out) {
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = values[i] - reference[i];
}

// Differences to the last row with the same slot; 0 in the first row of a slot.
void to_keyed(NumbersView values, std::span<const std::uint8_t> slots, std::span<Word> out) {
  std::array<Word, kTableEntriesMax> last{};
  std::array<bool, kTableEntriesMax> seen{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t slot = slots[i];
    if (!seen[slot]) {
      seen[slot] = true;
      last[slot] = values[i];
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
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (plans_[i].encoding == Encoding::table && !is_leaned_on_[i])
        reconsider_table(i);
    return std::move(plans_);
  }

private:
  struct Candidate {
    Encoding encoding;
    std::uint16_t reference;
    PackedChoice choice;
  };

  // Decides what needs no comparison, cheapest test first. False: compare.
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

  // Replaces the table if another encoding is faster to write and takes no more bits. Packed: the
  // values are close together, like ids of a few threads (the table shows that there is no
  // outlier). Difference: the values follow the column before, like the file of a descriptor.
  void reconsider_table(std::size_t i) {
    ColumnPlan& plan = plans_[i];
    const auto [first, count] = sample_rows(i);
    const NumbersView sample = columns_[i].subspan(first, count);
    const std::span<Word> out = std::span(scratch_).first(count);
    std::ranges::copy(std::span(plan.slots).subspan(first, count), out.begin());
    const std::uint64_t table_bits = choose_form(out).bits;
    if (i > 0 && stands_alone(i - 1)) {
      to_difference(sample, columns_[i - 1].subspan(first, count), out);
      const PackedChoice difference = choose_form(out);
      if (difference.bits <= table_bits / 2) {
        lean(i, Encoding::difference, i - 1);
        plan.form = difference.form;
        return;
      }
    }
    const PackedChoice packed = choose_form(sample);
    const auto slot_bits = static_cast<unsigned>(std::bit_width(plan.table.size() - 1));
    if (packed.bits <= table_bits &&
        choose_form(plan.table).bits <= slot_bits * plan.table.size()) {
      plan.encoding = Encoding::packed;
      plan.form = packed.form;
    }
  }

  std::pair<std::size_t, std::size_t> sample_rows(std::size_t i) const {
    const std::size_t rows = columns_[i].size();
    const std::size_t count = std::min(rows, kSampleRows);
    return {(rows - count) / 2, count};
  }

  void choose_by_sample(std::size_t i) {
    const auto [first, count] = sample_rows(i);
    const NumbersView sample = columns_[i].subspan(first, count);
    const std::span<Word> out = std::span(scratch_).first(count);

    Candidate best{Encoding::packed, 0, choose_form(sample)};
    const auto offer = [&](Encoding encoding, std::size_t reference, NumbersView values) {
      const PackedChoice choice = choose_form(values);
      if (choice.bits < best.choice.bits)
        best = {encoding, static_cast<std::uint16_t>(reference), choice};
    };
    to_delta(sample, out);
    offer(Encoding::delta, 0, out.subspan(1)); // the first value is no difference
    if (!is_leaned_on_[i]) {
      if (i > 0 && stands_alone(i - 1)) {
        to_difference(sample, columns_[i - 1].subspan(first, count), out);
        offer(Encoding::difference, i - 1, out);
      }
      for (std::size_t key = 0; key < columns_.size(); ++key) {
        if (plans_[key].encoding != Encoding::table)
          continue;
        to_keyed(sample, std::span(plans_[key].slots).subspan(first, count), out);
        offer(Encoding::keyed, key, out);
      }
    }
    if (leans_on_another(best.encoding))
      lean(i, best.encoding, best.reference);
    plans_[i].encoding = best.encoding;
    plans_[i].form = best.choice.form;
  }

  bool stands_alone(std::size_t i) const {
    return plans_[i].encoding != Encoding::text && plans_[i].encoding != Encoding::constant &&
           !leans_on_another(plans_[i].encoding);
  }

  std::span<const NumbersView> columns_;
  std::vector<ColumnPlan> plans_;
  std::vector<std::uint8_t> is_leaned_on_;
  TableBuilder table_builder_;
  std::array<Word, kSampleRows> scratch_{};
};

// Whether the plan of an earlier block also fits this one; builds the table anew. A column that has
// become constant needs a new plan: it is smaller, and no column may refer to it.
bool keep_plan(NumbersView values, ColumnPlan& plan, TableBuilder& table_builder) {
  if (values.empty() || plan.encoding == Encoding::text)
    return values.empty() && plan.encoding == Encoding::text;
  if (is_constant(values) || plan.encoding == Encoding::constant)
    return is_constant(values) && plan.encoding == Encoding::constant;
  if (plan.encoding == Encoding::linear)
    return is_linear(values);
  return plan.encoding != Encoding::table || table_builder.build(values, plan);
}

bool keep_plans(std::span<const NumbersView> columns, std::span<ColumnPlan> plans) {
  TableBuilder table_builder;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (i >= plans.size() || !keep_plan(columns[i], plans[i], table_builder))
      return false;
  return columns.size() == plans.size();
}

} // namespace

std::span<ColumnPlan> ColumnPlans::update(std::span<const NumbersView> columns, std::size_t rows) {
  // The plans of a small block are a poor guide for a large one.
  is_new_ = blocks_left_ == 0 || rows / 2 > planned_rows_ || !keep_plans(columns, plans_);
  if (is_new_) {
    plans_ = Planner(columns).run();
    planned_rows_ = rows;
    blocks_left_ = kPlannedBlocks;
  }
  --blocks_left_;
  rows_ = rows;
  return plans_;
}

void ColumnPlans::report(std::size_t bytes) {
  if (is_new_)
    planned_bytes_ = bytes;
  else if (bytes * planned_rows_ > (planned_bytes_ + planned_bytes_ / kGrowthPart) * rows_)
    blocks_left_ = 0;
}

} // namespace iotrail::store
