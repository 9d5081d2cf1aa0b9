// SPDX-License-Identifier: BSD-3-Clause
#include "trail/path_files.hpp"

#include "schema.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::trail {

namespace {

// Passes (number, text) of each row of a dictionary to a function.
template <class Row>
void read_dictionary(const store::TraceReader& trace, iot_u16 kind, const char* number_name,
                     const char* text_name, Row&& row) {
  const store::TableInfo* table = trace.table(kind);
  const int number = table ? table->column(number_name) : -1;
  const int text = table ? table->column(text_name) : -1;
  if (number < 0 || text < 0)
    return;
  store::EventStream rows(trace, std::vector<iot_u16>{kind});
  while (rows.next())
    row(rows.number(static_cast<std::size_t>(number)), rows.text(static_cast<std::size_t>(text)));
}

} // namespace

void PathFiles::load() {
  is_loaded_ = true;
  read_dictionary(trace_, IOT_KIND_files, "file", "path",
                  [&](std::uint64_t file, std::string_view path) {
                    const auto [at, is_new] = files_.emplace(path, file);
                    if (!is_new && at->second != file)
                      at->second = 0;
                  });
  read_dictionary(trace_, IOT_KIND_strings, "string", "text",
                  [&](std::uint64_t key, std::string_view text) {
                    if (text.starts_with('/'))
                      paths_.emplace(key, text);
                  });
}

std::uint64_t PathFiles::file(std::uint64_t path) {
  if (!is_loaded_)
    load();
  const auto text = paths_.find(path);
  const auto found = text == paths_.end() ? files_.end() : files_.find(text->second);
  return found == files_.end() ? 0 : found->second;
}

} // namespace iotrail::trail
