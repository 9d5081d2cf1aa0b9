// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests of the importers: files that become a trace, and the rows of that trace.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "import/import.hpp"
#include "store/reader/event_stream.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::import {

using ImportedRow = std::map<std::string, std::int64_t>;

class ImportTest : public testing::Test {
protected:
  ImportTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "iotrail-import-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ImportTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary).write(content.data(), std::ssize(content));
    return (folder_ / name).string();
  }

  Result<ImportOutcome> import(const std::vector<std::string>& files,
                               std::string_view format = {}) {
    std::filesystem::remove_all(trace());
    ImportRequest request;
    request.files = files;
    request.format = format.empty() ? nullptr : find_import_format(format);
    request.trace = trace();
    return import_trace(request, import_formats());
  }
  std::filesystem::path trace() const { return folder_ / "t.iotrail"; }

  // The rows of an event, in the order of time.
  std::vector<ImportedRow> rows(std::string_view event) const {
    const auto reader = store::TraceReader::open(trace());
    std::vector<ImportedRow> rows;
    store::EventStream events(**reader, {schema::find_event(event)->id});
    while (events.next()) {
      ImportedRow row;
      for (std::size_t i = 0; i < events.table().columns.size(); ++i)
        row[events.table().columns[i].name] = static_cast<std::int64_t>(events.number(i));
      rows.push_back(std::move(row));
    }
    return rows;
  }

private:
  std::filesystem::path folder_;
};

} // namespace iotrail::import
