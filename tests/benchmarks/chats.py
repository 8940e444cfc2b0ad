"""Programming chats written by hand, for the segmentation benchmark: each is a list of topics, each
topic a list of (prompt, reply). Some switches are announced, most are not; some topics share files
or words with the one before. Written before the detector was tuned, and not used to tune it.
"""

from __future__ import annotations

CHATS: list[list[list[tuple[str, str]]]] = [
    [
        [
            (
                "The login page throws KeyError: 'user_id' in src/auth/session.py for old cookies.",
                "The session dict has no user_id after expiry. Use `session.get('user_id')` in "
                "`load_user` and redirect to the login page when it is None.",
            ),
            (
                "I did that, now it redirects in a loop.",
                "The redirect target itself requires a session. Exempt `/login` in the "
                "`require_session` decorator in src/auth/session.py.",
            ),
            ("Works. Should I delete the stale cookie too?", "Yes, call `delete_cookie('sid')`."),
        ],
        [
            (
                "We need an export of invoices as CSV. Where would that go?",
                "Add `export_csv` to src/billing/invoices.py, stream rows with `csv.writer` and "
                "register the route `/invoices/export`.",
            ),
            (
                "The amounts should have two decimals and a comma.",
                "Format with `f'{amount:.2f}'.replace('.', ',')` before writing the row.",
            ),
            (
                "Can it skip cancelled ones?",
                "Filter with `Invoice.status != 'cancelled'` in the query.",
            ),
        ],
        [
            (
                "Write a GitHub workflow that runs pytest on 3.11 and 3.12.",
                "Here is .github/workflows/test.yml with a matrix over python-version.",
            ),
            (
                "It fails because Postgres is missing there.",
                "Add a `services: postgres:` block and set DATABASE_URL for the job.",
            ),
        ],
    ],
    [
        [
            (
                "Explain what the borrow checker complains about in parser.rs line 40.",
                "`tokens` is borrowed mutably by `next()` while `peek` still holds a reference. "
                "Clone the token or limit the scope of the borrow.",
            ),
            ("Which is faster?", "Limiting the scope; a clone allocates for string tokens."),
            (
                "ok, do it for parse_expr as well",
                "In `parse_expr` the same pattern occurs twice; both blocks end before `next()`.",
            ),
        ],
        [
            (
                "Now let's write the benchmarks. Use criterion.",
                "I added benches/parse.rs with groups for small, medium and large inputs.",
            ),
            (
                "Add throughput in bytes.",
                "`group.throughput(Throughput::Bytes(input.len() as u64))` before each bench.",
            ),
            (
                "The large input takes ages.",
                "Reduce `sample_size` to 20 for that group.",
            ),
        ],
        [
            (
                "What license should a small crate like this have?",
                "Most of the ecosystem uses MIT OR Apache-2.0.",
            ),
            ("And the year in the file?", "The year of first publication; no range is needed."),
        ],
        [
            (
                "The lexer turns 1..5 into a float and a dot.",
                "In `lex_number`, a dot must be followed by a digit to belong to the number. Peek "
                "two characters ahead.",
            ),
            (
                "and 1.method()?",
                "The same rule covers it: `m` is no digit, so the dot is a token of its own.",
            ),
        ],
    ],
    [
        [
            (
                "Make the sidebar collapsible in Sidebar.tsx",
                "I added a `collapsed` state and a toggle button; the width is animated by CSS.",
            ),
            (
                "remember the state across reloads",
                "The state is read from and written to localStorage under `sidebar.collapsed`.",
            ),
            (
                "the icon should flip",
                "A `rotate-180` class is applied while collapsed.",
            ),
            (
                "it flickers on load",
                "Read localStorage in the useState initialiser, not an effect.",
            ),
        ],
        [
            (
                "Our bundle is 3 MB. What takes the room?",
                "Run `vite-bundle-visualizer`. Usual suspects: moment with locales, lodash, icons.",
            ),
            (
                "It's moment indeed, 600 kB.",
                "Replace it by date-fns and import only `format` and `parseISO`.",
            ),
            (
                "And lodash?",
                "Import per function: `lodash/debounce`. That drops about 500 kB.",
            ),
        ],
        [
            (
                "Storybook doesn't start: Cannot find module '@storybook/react-vite'",
                "The framework package is missing; install it as a dev dependency in the version "
                "of the other storybook packages.",
            ),
            ("same error", "Delete node_modules and the lock's stale entry, then install again."),
            ("that did it, thanks", "Glad it starts now."),
        ],
        [
            (
                "How do I test a component that uses localStorage with vitest?",
                "With the jsdom environment localStorage exists; clear it in beforeEach.",
            ),
            (
                "It says localStorage is not defined",
                "Set `environment: 'jsdom'` in vitest.config.ts.",
            ),
        ],
    ],
    [
        [
            (
                "SELECT on orders takes 4 s. Table has 12M rows. Query filters on customer_id and "
                "sorts by created_at.",
                "Create a composite index (customer_id, created_at DESC). EXPLAIN shows whether "
                "the sort disappears.",
            ),
            (
                "It's used, but still 900 ms.",
                "You select all columns, so each row is fetched from the heap. Cover the query "
                "with INCLUDE (total, status).",
            ),
            ("30 ms now, great", "Good. Watch the size of the index on writes."),
        ],
        [
            (
                "Forget the database. The nightly job in cron/report.py mails the report twice.",
                "Two workers run the scheduler. Take an advisory lock or use one process.",
            ),
            (
                "How would I do it with redis?",
                "`SET report:lock <id> NX EX 3600`; only the process that gets OK sends.",
            ),
        ],
        [
            (
                "Rename the package from acme_tools to acmekit everywhere.",
                "I renamed the folder, 41 imports, pyproject.toml and the docs.",
            ),
            (
                "tests/conftest.py still imports the old name",
                "Fixed; it used importlib with a string.",
            ),
            (
                "Leave a shim for the old name with a deprecation warning.",
                "acme_tools/__init__.py re-exports acmekit and warns once.",
            ),
        ],
    ],
    [
        [
            (
                "implement undo for the drawing canvas",
                "I keep a stack of commands in history.ts; each has `apply` and `revert`.",
            ),
            ("and redo", "A second stack holds what was undone; a new command clears it."),
            (
                "limit it to 100 steps",
                "The oldest command is dropped once the stack holds 100.",
            ),
            ("merge quick strokes into one step", "Strokes within 300 ms are merged on push."),
        ],
        [
            (
                "users report blurry lines on retina displays",
                "Scale the canvas backing store by devicePixelRatio and the context with it.",
            ),
            (
                "the mouse position is off now",
                "Keep CSS pixels for events; only the backing store is scaled.",
            ),
        ],
        [
            (
                "README: add a section on keyboard shortcuts",
                "Added a table with the shortcuts for tools, zoom, undo and redo.",
            ),
            ("mention macOS keys too", "The table now has a column for macOS."),
        ],
        [
            (
                "Let's try something else: can the app run offline?",
                "Yes, with a service worker that caches the shell; documents go to IndexedDB.",
            ),
            (
                "what happens when there is a new version",
                "The worker waits until all tabs close; show a button that calls skipWaiting.",
            ),
            ("write the worker", "Here is sw.ts with precache and a network-first rule for /api."),
        ],
    ],
    [
        [
            (
                "My Dockerfile rebuilds all dependencies on each code change.",
                "Copy requirements.txt and install before the source, so the layer is cached.",
            ),
            (
                "image is 1.4 GB",
                "Use python:3.12-slim and a multi-stage build without compilers in the last stage.",
            ),
            (
                "psycopg fails to build on slim",
                "Install libpq-dev and gcc in the builder stage, or use psycopg[binary].",
            ),
        ],
        [
            (
                "Unit tests for the PriceCalculator class please, rounding in particular",
                "tests/test_price.py covers half-even rounding, zero, negative and large values.",
            ),
            ("use parametrize", "The five rounding tests are now one parametrised test."),
            (
                "test_large fails: 1e22 loses a cent",
                "PriceCalculator converts to float; use Decimal throughout.",
            ),
            ("yes change it", "PriceCalculator now works on Decimal and the test passes."),
        ],
        [
            (
                "who calls legacy_discount? can we delete it",
                "Only scripts/migrate_2019.py imports it; nothing in the application does.",
            ),
            ("delete both", "Removed the function and the script."),
        ],
        [
            (
                "By the way, what does PEP 695 change?",
                "It adds syntax for type parameters: `def f[T](x: T) -> T` and `type Alias = ...`.",
            ),
            ("do we need it?", "No; it needs Python 3.12, and you support 3.11."),
        ],
    ],
]
