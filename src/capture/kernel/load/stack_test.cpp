// SPDX-License-Identifier: BSD-3-Clause
//
// A program and all functions that it calls share 512 bytes of stack and eight frames. Kernels
// before 6.8 count stack in units of 32 bytes a frame. The filters of a recording decide which
// functions it needs: a chain that is too long refuses a layer in some recordings only. So the
// longest chain of each program is measured in the object, whatever is recorded.
#include <elf.h>
#include <linux/bpf.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace iotrail::capture::kernel {
namespace {

constexpr int kStackMost = 512;
constexpr int kFrameUnit = 32;
constexpr std::size_t kFramesMost = 8;

struct Function {
  std::string name;
  int depth = 0; // bytes of its own frame
  std::set<const Function*> callees;
};

// The functions of an object file, by where they begin: section and offset.
class Object {
public:
  explicit Object(const char* path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    const auto& header = at<Elf64_Ehdr>(0);
    sections_ = {&at<Elf64_Shdr>(header.e_shoff), header.e_shnum};
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_SYMTAB)
        symbols_ = {&at<Elf64_Sym>(section.sh_offset), section.sh_size / sizeof(Elf64_Sym)};
    for (const Elf64_Sym& symbol : symbols_)
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        functions_[{symbol.st_shndx, symbol.st_value}].name = name_of(symbol);
    for (const Elf64_Sym& symbol : symbols_)
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        read_code(symbol);
  }

  // The programs: functions without callers.
  std::vector<const Function*> programs() const {
    std::vector<const Function*> programs;
    for (const auto& [place, function] : functions_)
      if (!is_called(function))
        programs.push_back(&function);
    return programs;
  }

private:
  using FunctionBegin = std::pair<unsigned, std::uint64_t>;

  template <class T> const T& at(std::uint64_t offset) const {
    return *reinterpret_cast<const T*>(bytes_.data() + offset);
  }

  const char* name_of(const Elf64_Sym& symbol) const {
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_SYMTAB)
        return &at<char>(sections_[section.sh_link].sh_offset + symbol.st_name);
    return "";
  }

  bool is_called(const Function& function) const {
    return std::ranges::any_of(
        functions_, [&](const auto& other) { return other.second.callees.contains(&function); });
  }

  // The symbol that the instruction at `offset` of the section names; null: none.
  const Elf64_Sym* relocated(unsigned section, std::uint64_t offset) const {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_REL || table.sh_info != section)
        continue;
      const std::span rows(&at<Elf64_Rel>(table.sh_offset), table.sh_size / sizeof(Elf64_Rel));
      const auto row = std::ranges::lower_bound(rows, offset, {}, &Elf64_Rel::r_offset);
      if (row != rows.end() && row->r_offset == offset)
        return &symbols_[ELF64_R_SYM(row->r_info)];
    }
    return nullptr;
  }

  // The target of a call, or of a function passed as an argument, by libbpf's rules.
  const Function* target(unsigned section, std::uint64_t offset, const bpf_insn& code) const {
    const Elf64_Sym* const symbol = relocated(section, offset);
    const bool is_call = code.code == (BPF_JMP | BPF_CALL);
    FunctionBegin place{section,
                        offset + sizeof(code) + static_cast<std::uint64_t>(code.imm * 8LL)};
    if (symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_SECTION)
      place = {symbol->st_shndx,
               static_cast<std::uint64_t>((code.imm + (is_call ? 1 : 0)) * (is_call ? 8LL : 1LL))};
    else if (symbol != nullptr)
      place = {symbol->st_shndx, symbol->st_value};
    else if (!is_call)
      return nullptr;
    const auto found = functions_.find(place);
    return found != functions_.end() ? &found->second : nullptr;
  }

  void read_code(const Elf64_Sym& symbol) {
    Function& function = functions_[{symbol.st_shndx, symbol.st_value}];
    const std::uint64_t code_begin = sections_[symbol.st_shndx].sh_offset;
    std::set<int> frames; // registers that hold the frame's address
    for (std::uint64_t offset = symbol.st_value; offset < symbol.st_value + symbol.st_size;) {
      const auto& code = at<bpf_insn>(code_begin + offset);
      const int kind = BPF_CLASS(code.code);
      const bool is_wide = code.code == (BPF_LD | BPF_IMM | BPF_DW);
      if ((kind == BPF_ST || kind == BPF_STX) && code.dst_reg == BPF_REG_10)
        function.depth = std::max(function.depth, -code.off);
      if (kind == BPF_LDX && code.src_reg == BPF_REG_10)
        function.depth = std::max(function.depth, -code.off);
      if (code.code == (BPF_ALU64 | BPF_MOV | BPF_X) && code.src_reg == BPF_REG_10)
        frames.insert(code.dst_reg);
      else if (code.code == (BPF_ALU64 | BPF_ADD | BPF_K) && frames.erase(code.dst_reg) != 0)
        function.depth = std::max(function.depth, -code.imm);
      if (is_wide || (code.code == (BPF_JMP | BPF_CALL) && code.src_reg == BPF_PSEUDO_CALL))
        if (const Function* const callee = target(symbol.st_shndx, offset, code); callee != nullptr)
          function.callees.insert(callee);
      offset += is_wide ? 2 * sizeof(code) : sizeof(code);
    }
  }

  std::vector<char> bytes_;
  std::span<const Elf64_Shdr> sections_;
  std::span<const Elf64_Sym> symbols_;
  std::map<FunctionBegin, Function> functions_;
};

struct Chain {
  int bytes = 0;
  std::string text{};
};

Chain longest_chain(const Function& function, std::map<const Function*, Chain>& known) {
  if (const auto found = known.find(&function); found != known.end())
    return found->second;
  Chain longest;
  for (const Function* callee : function.callees)
    if (Chain chain = longest_chain(*callee, known); chain.bytes > longest.bytes)
      longest = std::move(chain);
  const int own = std::max(1, (function.depth + kFrameUnit - 1) / kFrameUnit) * kFrameUnit;
  longest.bytes += own;
  longest.text = function.name + ' ' + std::to_string(own) + (longest.text.empty() ? "" : " > ") +
                 longest.text;
  return known[&function] = longest;
}

using Frames = std::vector<std::string>;

Frames deepest_chain(const Function& function, std::map<const Function*, Frames>& known) {
  if (const auto found = known.find(&function); found != known.end())
    return found->second;
  Frames deepest;
  for (const Function* callee : function.callees)
    if (Frames chain = deepest_chain(*callee, known); chain.size() > deepest.size())
      deepest = std::move(chain);
  deepest.insert(deepest.begin(), function.name);
  return known[&function] = deepest;
}

TEST(Stack, of_no_program_has_more_frames_than_any_kernel) {
  const Object object(IOTRAIL_BPF_OBJECT);
  std::map<const Function*, Frames> known;
  std::size_t most = 0;
  for (const Function* program : object.programs()) {
    const Frames chain = deepest_chain(*program, known);
    EXPECT_LE(chain.size(), kFramesMost) << testing::PrintToString(chain);
    most = std::max(most, chain.size());
  }
  EXPECT_GT(most, 6U); // else calls are not seen
}

TEST(Stack, of_no_program_is_more_than_any_kernel_has) {
  const Object object(IOTRAIL_BPF_OBJECT);
  std::map<const Function*, Chain> known;
  int most = 0;
  std::string longest;
  for (const Function* program : object.programs()) {
    const Chain chain = longest_chain(*program, known);
    EXPECT_LE(chain.bytes, kStackMost) << chain.text;
    if (chain.bytes > most) {
      most = chain.bytes;
      longest = chain.text;
    }
  }
  EXPECT_GT(most, 400) << longest; // else calls are not seen
}

} // namespace
} // namespace iotrail::capture::kernel
