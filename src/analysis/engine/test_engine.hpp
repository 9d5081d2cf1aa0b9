// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "store/format/manifest_text.hpp"
#include "test_trace.hpp"

namespace iotrail::analysis {

inline std::unique_ptr<Engine> open(const golden::TestTrace& trace) {
  auto engine = Engine::open(trace.path());
  EXPECT_TRUE(engine.has_value()) << engine.error().message();
  return std::move(*engine);
}

inline void replace_in_manifest(const golden::TestTrace& trace, const std::string& what,
                                const std::string& by) {
  const auto path = trace.path() / "manifest.json";
  std::ifstream input(path);
  std::string text{std::istreambuf_iterator<char>(input), {}};
  ASSERT_TRUE(text.contains(what)) << what;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  std::ofstream(path, std::ios::trunc) << store::sealed_text(store::Json::parse(text));
}

// The only cell of the only row.
inline std::string answer(Engine& engine, std::string_view sql) {
  auto rows = engine.query(sql);
  if (!rows)
    return rows.error().message();
  const auto more = rows->next();
  if (!more || !*more)
    return "no row";
  std::string text;
  std::visit(
      [&](const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          text = fmt::format("{}", value);
      },
      rows->row()[0]);
  return text;
}

// The rows of a query, cells separated by blanks; NULL is "-".
inline std::vector<std::string> rows_of(Engine& engine, std::string_view sql) {
  std::vector<std::string> texts;
  auto rows = engine.query(sql);
  EXPECT_TRUE(rows.has_value()) << rows.error().message();
  if (!rows)
    return texts;
  for (auto more = rows->next(); more && *more; more = rows->next()) {
    std::string text;
    for (const Cell& cell : rows->row())
      std::visit(
          [&](const auto& value) {
            text += text.empty() ? "" : " ";
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
              text += "-";
            else
              text += fmt::format("{}", value);
          },
          cell);
    texts.push_back(std::move(text));
  }
  return texts;
}

} // namespace iotrail::analysis
