// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/optimize/constant_folding.hpp"

#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

namespace iotrail::capture::kernel {
namespace {

bool is_extended(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)}) == value;
}

// The instruction that loads a value into a register; none: it takes a wide one.
std::optional<bpf_insn> move_of(unsigned to, std::uint64_t value) {
  bpf_insn move{};
  move.dst_reg = to & 0xfU;
  move.imm = static_cast<std::int32_t>(value);
  if (value <= UINT32_MAX)
    move.code = BPF_ALU | BPF_MOV | BPF_K;
  else if (is_extended(value))
    move.code = BPF_ALU64 | BPF_MOV | BPF_K;
  else
    return std::nullopt;
  return move;
}

// A jump to another instruction than the next.
bool goes_elsewhere(const bpf_insn& instruction) {
  return is_jump(instruction) || is_branch(instruction);
}

// Only writes a register.
bool is_pure(const bpf_insn& instruction) {
  return is_calculation(instruction) || is_wide(instruction);
}

bpf_insn jump_by(std::int16_t distance) {
  return {.code = BPF_JMP | BPF_JA, .dst_reg = 0, .src_reg = 0, .off = distance, .imm = 0};
}

class Folding {
public:
  Folding(std::vector<bpf_insn>& code, const Constants& constants)
      : code_(code), known_(code, constants), is_kept_(code.size(), 0) {}

  void fold() {
    put_values();
    do
      drop_useless();
    while (drop_jumps_to_next());
    number_places();
    close_up();
  }

  // The new place of an instruction or, if it was removed, of the next one.
  std::uint32_t new_place(std::size_t at) const { return new_places_[at]; }

private:
  void put_values() {
    for (std::size_t at = 0; at < code_.size(); at += places_of(code_[at])) {
      if (!known_.is_reached(at))
        continue;
      reached_.push_back(at);
      is_kept_[at] = 1;
      bpf_insn& instruction = code_[at];
      if (const auto value = known_.loaded(at))
        instruction = move_of(instruction.dst_reg, *value).value_or(instruction);
      if (const auto is_taken = known_.is_taken(at)) {
        is_kept_[at] = *is_taken ? 1 : 0;
        instruction = *is_taken ? jump_by(instruction.off) : jump_by(0);
      }
      has_loops_ = has_loops_ || (goes_elsewhere(instruction) && instruction.off < 0);
    }
  }

  // Removes writes to registers that no instruction reads.
  void drop_useless() {
    const std::vector<RegisterSet> live = live_registers();
    for (const std::size_t at : reached_)
      if (is_kept_[at] && is_useless(at, live))
        is_kept_[at] = 0;
  }

  bool is_useless(std::size_t at, const std::vector<RegisterSet>& live) const {
    const bpf_insn& instruction = code_[at];
    return is_pure(instruction) &&
           (registers_written(instruction) & live[at + places_of(instruction)]) == 0;
  }

  // Before each instruction: the registers that may be read before they are written.
  std::vector<RegisterSet> live_registers() const {
    std::vector<RegisterSet> live(code_.size() + 1, 0);
    for (bool is_stable = false; !is_stable;) {
      is_stable = true;
      for (const std::size_t at : std::views::reverse(reached_)) {
        const RegisterSet before = live_before(at, live);
        is_stable = is_stable && (!has_loops_ || before == live[at]);
        live[at] = before;
      }
    }
    return live;
  }

  RegisterSet live_before(std::size_t at, const std::vector<RegisterSet>& live) const {
    const bpf_insn& instruction = code_[at];
    if (!is_kept_[at])
      return live[goes_elsewhere(instruction) ? jump_target(at, instruction)
                                              : at + places_of(instruction)];
    if (is_useless(at, live))
      return live[at + places_of(instruction)];
    RegisterSet after = 0;
    if (goes_elsewhere(instruction))
      after = live[jump_target(at, instruction)];
    if (!is_jump(instruction) && !is_exit(instruction))
      after |= live[at + places_of(instruction)];
    return (after & ~registers_written(instruction)) | registers_read(instruction);
  }

  // True: removed comparisons of registers; their values may be unused now.
  bool drop_jumps_to_next() {
    bool had_branches = false;
    std::size_t next = code_.size(); // that is kept
    for (const std::size_t at : std::views::reverse(reached_)) {
      if (!is_kept_[at])
        continue;
      const bpf_insn& instruction = code_[at];
      if (goes_elsewhere(instruction) && instruction.off >= 0 &&
          jump_target(at, instruction) <= next) {
        is_kept_[at] = 0;
        had_branches = had_branches || is_branch(instruction);
      } else {
        next = at;
      }
    }
    return had_branches;
  }

  void number_places() {
    new_places_.reserve(code_.size() + 1);
    std::uint32_t place = 0;
    for (std::size_t at = 0; at < code_.size(); ++at) {
      new_places_.push_back(place);
      if (is_kept_[at])
        place += static_cast<std::uint32_t>(places_of(code_[at]));
    }
    new_places_.push_back(place);
  }

  void close_up() {
    for (const std::size_t at : reached_) {
      if (!is_kept_[at])
        continue;
      bpf_insn instruction = code_[at];
      if (goes_elsewhere(instruction))
        instruction.off = static_cast<std::int16_t>(distance(at, jump_target(at, instruction)));
      if (names_function(instruction))
        instruction.imm = distance(at, named_function(at, instruction));
      const std::size_t places = places_of(instruction);
      code_[new_places_[at]] = instruction;
      if (places == 2)
        code_[new_places_[at] + 1] = code_[at + 1];
    }
    code_.resize(new_places_.back());
  }

  std::int32_t distance(std::size_t from, std::size_t to) const {
    return static_cast<std::int32_t>(new_places_[to]) -
           static_cast<std::int32_t>(new_places_[from]) - 1;
  }

  std::vector<bpf_insn>& code_;
  const ConstantPropagation known_;
  std::vector<std::size_t> reached_; // places
  std::vector<char> is_kept_;        // by place; a wide one counts at its first half
  bool has_loops_ = false;
  std::vector<std::uint32_t> new_places_;
};

// Records of removed instructions have the same place: the last one is right.
void move_records(PlaceRecords& records, const Folding& folding, std::size_t code_size) {
  std::vector<std::byte> moved;
  std::size_t last_place = code_size;
  for (std::size_t record = 0; record < records.count(); ++record) {
    const auto old =
        std::span(records.bytes).subspan(record * records.record_size, records.record_size);
    std::uint32_t place = 0;
    std::memcpy(&place, old.data(), sizeof place);
    place = folding.new_place(place);
    if (place >= code_size)
      break;
    if (place == last_place)
      moved.erase(moved.end() - records.record_size, moved.end());
    last_place = place;
    moved.insert(moved.end(), old.begin(), old.end());
    std::memcpy(moved.data() + moved.size() - records.record_size, &place, sizeof place);
  }
  records.bytes = std::move(moved);
}

} // namespace

bool fold_constants(ProgramCode& program, const Constants& constants) {
  if (!is_understood(program.instructions))
    return false;
  Folding folding(program.instructions, constants);
  folding.fold();
  move_records(program.functions, folding, program.instructions.size());
  move_records(program.lines, folding, program.instructions.size());
  return true;
}

} // namespace iotrail::capture::kernel
