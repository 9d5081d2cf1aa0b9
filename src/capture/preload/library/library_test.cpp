// SPDX-License-Identifier: BSD-3-Clause
//
// Checks the built library: it depends only on the C library, and exports only the hooks' names.
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "capture/preload/collector/call_table.hpp"
#include "capture/preload/collector/preload_source.hpp"
#include "schema.hpp"

namespace iotrail::capture::preload {

namespace {

class Library {
public:
  Library() {
    const auto path = preload_library();
    if (!path)
      return;
    std::ifstream file(*path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    read_sections();
  }

  std::set<std::string> symbols(bool defined) const {
    std::set<std::string> names;
    for (const Elf64_Sym& symbol : array<Elf64_Sym>(symbols_))
      if (symbol.st_name != 0 && (symbol.st_shndx != SHN_UNDEF) == defined)
        names.insert(text(symbol.st_name));
    return names;
  }
  std::vector<std::string> needed() const {
    std::vector<std::string> names;
    for (const Elf64_Dyn& entry : array<Elf64_Dyn>(dynamic_))
      if (entry.d_tag == DT_NEEDED)
        names.push_back(text(entry.d_un.d_val));
    return names;
  }

private:
  template <class T> T at(std::size_t offset) const {
    return ByteReader(std::as_bytes(std::span(bytes_)).subspan(offset)).read<T>();
  }
  template <class T> std::vector<T> array(const Elf64_Shdr& section) const {
    std::vector<T> items;
    for (std::size_t i = 0; i < section.sh_size / sizeof(T); ++i)
      items.push_back(at<T>(section.sh_offset + i * sizeof(T)));
    return items;
  }
  std::string text(std::size_t offset) const { return &bytes_[strings_.sh_offset + offset]; }
  void read_sections() {
    const auto header = at<Elf64_Ehdr>(0);
    std::vector<Elf64_Shdr> sections;
    for (std::size_t i = 0; i < header.e_shnum; ++i)
      sections.push_back(at<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == SHT_DYNAMIC)
        dynamic_ = section;
      if (section.sh_type == SHT_DYNSYM) {
        symbols_ = section;
        strings_ = sections[section.sh_link];
      }
    }
  }

  std::vector<char> bytes_;
  Elf64_Shdr symbols_{};
  Elf64_Shdr strings_{};
  Elf64_Shdr dynamic_{};
};

} // namespace

TEST(PreloadLibrary, needs_the_c_library_only) {
  const Library library;
  EXPECT_EQ(library.needed(), std::vector<std::string>{"libc.so.6"});
  for (const std::string& name : library.symbols(false))
    EXPECT_FALSE(name.starts_with("_Z") || name.starts_with("__cxa_throw") ||
                 name.starts_with("__gxx"))
        << name;
}

TEST(PreloadLibrary, calls_no_function_that_it_hooks) {
  const std::set<std::string> used = Library().symbols(false);
  EXPECT_FALSE(used.empty());
  for (const HookRow& row : hook_rows())
    EXPECT_FALSE(used.contains(std::string(row.name))) << row.name;
}

TEST(PreloadLibrary, shows_the_hooks_and_nothing_else) {
  std::set<std::string> hooks;
  for (const HookRow& row : hook_rows())
    EXPECT_TRUE(hooks.emplace(row.name).second) << row.name << " is there twice";
  EXPECT_EQ(Library().symbols(true), hooks);
}

TEST(PreloadLibrary, every_call_has_its_own_number_and_event) {
  for (const HookRow& row : hook_rows()) {
    if (row.kind == 0)
      continue;
    const auto found = std::ranges::find_if(schema::kValues, [&](const schema::Value& value) {
      return value.table == "app_call" && value.name == row.name;
    });
    ASSERT_NE(found, std::end(schema::kValues)) << row.name;
    EXPECT_EQ(kind_of_call(static_cast<iot_u16>(found->number)), row.kind) << row.name;
  }
}

TEST(PreloadLibrary, every_app_event_is_served) {
  const auto reports = hook_reports();
  for (const schema::Event& event : schema::kEvents) {
    const bool is_served = std::ranges::any_of(reports, [&](const store::HookReport& report) {
      return report.event == event.name && !report.hook.empty();
    });
    EXPECT_EQ(is_served, event.layer == schema::Layer::app) << event.name;
  }
}

TEST(Library, a_file_that_the_linker_would_refuse_is_not_preloaded) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("no-library-{}", getpid());
  const char* const before = getenv("IOTRAIL_PRELOAD_LIBRARY");
  const std::string kept = before == nullptr ? "" : before;
  setenv("IOTRAIL_PRELOAD_LIBRARY", path.c_str(), 1);
  for (const auto& [content, why] :
       {std::pair<std::string, const char*>("", "it is empty"),
        {"#!/bin/sh\n", "no shared library"},
        {std::string("\x7f"
                     "ELF\x01",
                     5) +
             std::string(11, '\0') + std::string("\x03\0", 2) + std::string(60, '\0'),
         "another kind of machine"}}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    const auto library = preload_library();
    ASSERT_FALSE(library.has_value());
    EXPECT_TRUE(library.error().message().contains(why)) << library.error().message();
  }
  std::filesystem::remove(path);
  if (kept.empty())
    unsetenv("IOTRAIL_PRELOAD_LIBRARY");
  else
    setenv("IOTRAIL_PRELOAD_LIBRARY", kept.c_str(), 1);
}

} // namespace iotrail::capture::preload
