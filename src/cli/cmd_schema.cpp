// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "output/schema_print.hpp"

namespace iotrail::cli {

Action declare_schema(CLI::App& app, const Trailing&) {
  // The last one named wins; without any it is the text.
  auto print = std::make_shared<std::string (*)()>(output::schema_text);
  app.add_flag_callback(
      "--markdown", [print] { *print = output::schema_markdown; }, "As docs/events.md");
  app.add_flag_callback("--json", [print] { *print = output::schema_json; }, "For programs");
  app.add_flag_callback(
      "--sql", [print] { *print = output::schema_sql; }, "As CREATE TABLE statements");
  return [print]() -> Result<int> {
    fmt::print("{}", (*print)());
    return 0;
  };
}

} // namespace iotrail::cli
