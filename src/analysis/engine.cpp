// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "analysis/functions.hpp"
#include "analysis/relations.hpp"
#include "analysis/trace_table.hpp"

namespace iotrail::analysis {

struct Engine::Impl {
  // Order matters: the tables of the database refer to the reader.
  std::unique_ptr<store::TraceReader> reader;
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  std::string unfit_views; // why each view that this trace has not all columns for is not there

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    duckdb_disconnect(&connection);
    duckdb_close(&database);
  }

  Result<void> open_database(const EngineOptions& options);
  Result<void> define_relations();
  Result<void> run(std::string_view what, const std::string& sql) const;
};

namespace {

constexpr std::uint64_t kMostMemoryBytes = 4ULL << 30U;

std::uint64_t default_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  return std::min(pages * page_bytes / 2, kMostMemoryBytes);
}

struct Settings {
  duckdb_config config = nullptr;
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() { duckdb_destroy_config(&config); }

  Result<void> set(const char* name, const std::string& value) {
    if (duckdb_set_config(config, name, value.c_str()) != DuckDBSuccess)
      return fail("SQL engine", fmt::format("it does not take the setting {} = {}", name, value));
    return {};
  }
};

Result<void> choose_settings(Settings& settings, const EngineOptions& options) {
  if (duckdb_create_config(&settings.config) != DuckDBSuccess)
    return fail("SQL engine", "out of memory");
  const unsigned threads =
      options.threads ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t memory_bytes =
      options.memory_bytes ? options.memory_bytes : default_memory_bytes();
  std::error_code
      ignored; // without a place to spill to, large queries fail with a message of the engine
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(ignored);
  const std::string spill =
      temporary.empty() ? "" : (temporary / fmt::format("iotrail-{}", getpid())).string();
  const std::pair<const char*, std::string> chosen[] = {
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"threads", fmt::format("{}", threads)},
      {"memory_limit", fmt::format("{}B", memory_bytes)},
      {"temp_directory", spill},
  };
  for (const auto& [name, value] : chosen)
    if (auto set = settings.set(name, value); !set)
      return set;
  return {};
}

} // namespace

Result<void> Engine::Impl::open_database(const EngineOptions& options) {
  Settings settings;
  if (auto chosen = choose_settings(settings, options); !chosen)
    return chosen;
  char* why = nullptr;
  if (duckdb_open_ext(":memory:", &database, settings.config, &why) != DuckDBSuccess) {
    auto failed = fail("SQL engine", why ? why : "it does not start");
    duckdb_free(why);
    return failed;
  }
  if (duckdb_connect(database, &connection) != DuckDBSuccess)
    return fail("SQL engine", "no connection");
  return {};
}

Result<void> Engine::Impl::run(std::string_view what, const std::string& sql) const {
  duckdb_result result{};
  const duckdb_state state = duckdb_query(connection, sql.c_str(), &result);
  Result<void> done;
  if (state != DuckDBSuccess)
    done = fail(fmt::format("SQL of {}", what), duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  return done;
}

Result<void> Engine::Impl::define_relations() {
  for (const store::TableInfo& table : reader->tables())
    if (auto done = register_trace_table(connection, *reader, table); !done)
      return done;
  if (auto done = register_functions(connection); !done)
    return done;
  if (auto done = run("the tables", table_views_sql(*reader)); !done)
    return done;
  if (auto done = run("the table tables", table_list_sql(*reader)); !done)
    return done;
  if (auto done = run("the view events", events_view_sql(*reader)); !done)
    return done;
  if (auto done = run("the manifest", manifest_tables_sql(reader->manifest())); !done)
    return done;
  for (const ViewFile& view : view_files())
    if (auto done = run(fmt::format("the view {}", view.name), std::string(view.sql)); !done)
      unfit_views += fmt::format("{}{}", unfit_views.empty() ? "" : "\n", done.error().message());
  return {};
}

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& trace,
                                             EngineOptions options) {
  auto reader = store::TraceReader::open(trace);
  if (!reader)
    return std::unexpected(reader.error());
  auto impl = std::make_unique<Impl>();
  impl->reader = std::move(*reader);
  if (auto done = impl->open_database(options); !done)
    return std::unexpected(done.error());
  if (auto done = impl->define_relations(); !done)
    return std::unexpected(done.error());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const store::TraceReader& Engine::trace() const {
  return *impl_->reader;
}

Result<Rows> Engine::query(std::string_view sql) {
  auto rows = Rows::run(impl_->connection, sql);
  if (!rows && !impl_->unfit_views.empty())
    rows.error().hint =
        "The trace is of another version, and does not have all that is needed for\n" +
        impl_->unfit_views;
  return rows;
}

} // namespace iotrail::analysis
