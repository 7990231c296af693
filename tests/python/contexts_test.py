"""Which coordinator a client chooses; needs no coordinator."""

import pathlib
import tempfile
import unittest

from dtrain import NotFoundError, TlsFiles, UsageError
from dtrain._config import choose, parse_contexts
from dtrain._connection import is_local

FILE = """# Coordinators that dtctl knows by name; 'dtctl context' changes this.
current: local
contexts:
  local:
    address: 127.0.0.1:41234
  lab:
    address: "alpha.example:7600"
    tls_ca: /etc/dtrain/ca.crt   # of the lab
    tls_cert: '/etc/dtrain/it''s mine.crt'
    tls_key: "/etc/dtrain/\\u00fc \\"key\\".key"
  socket: {}
"""


class ChoosingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        self.path = pathlib.Path(folder.name) / "dtrain/config.yaml"
        self.path.parent.mkdir()
        self.write(FILE.replace("  socket: {}\n", ""))

    def write(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")

    def choose(self, address=None, context=None, tls=TlsFiles(), **environment):
        return choose(address, context, tls, {"XDG_CONFIG_HOME": self.home, **environment})

    def test_without_anything_it_is_the_default_address(self) -> None:
        self.path.unlink()
        self.assertEqual(self.choose().address, "127.0.0.1:7600")
        self.assertEqual(choose(None, None, TlsFiles(), {}).address, "127.0.0.1:7600")

    def test_the_order_is_address_context_variables_current_context(self) -> None:
        self.assertEqual(self.choose().context, "local")
        self.assertEqual(self.choose(DTCTL_CONTEXT="lab").address, "alpha.example:7600")
        self.assertEqual(self.choose(DTCTL_CONTEXT="lab", DTCTL_ADDRESS="unix:/a").address, "unix:/a")
        named = self.choose(context="lab", DTCTL_ADDRESS="unix:/a")
        self.assertEqual((named.address, named.context), ("alpha.example:7600", "lab"))
        both = self.choose(address="[::1]:5", context="lab")
        self.assertEqual((both.address, both.context, both.tls.ca), ("[::1]:5", "", "/etc/dtrain/ca.crt"))

    def test_a_token_is_of_the_argument_then_the_variable_then_the_context(self) -> None:
        def keep(name: str, digit: str) -> str:
            path = pathlib.Path(self.home) / name
            path.write_text(f"dtr_{digit * 64}\n", encoding="utf-8")
            return str(path)

        given, variable, own = keep("given", "1"), keep("variable", "2"), keep("own", "3")
        self.write(f"current: lab\ncontexts:\n  lab:\n    address: a.example:7600\n    token_file: {own}\n")
        environment = {"XDG_CONFIG_HOME": self.home}
        self.assertEqual(self.choose().token[4], "3")
        self.assertEqual(self.choose(DTRAIN_TOKEN_FILE=variable).token[4], "2")
        self.assertEqual(self.choose(context="lab", DTRAIN_TOKEN_FILE=variable).token[4], "3")
        self.assertEqual(self.choose(address="unix:/a").token, "")
        self.assertEqual(choose(None, None, TlsFiles(), environment, given).token[4], "1")
        self.path.with_name("bad").write_text("secret", encoding="utf-8")
        with self.assertRaisesRegex(UsageError, "does not hold a token") as caught:
            choose(None, None, TlsFiles(), environment, str(self.path.with_name("bad")))
        self.assertNotIn("secret", str(caught.exception))
        self.assertNotIn("dtr_3", repr(self.choose()))

    def test_tls_files_are_those_of_the_arguments_then_the_variables_then_the_context(self) -> None:
        variables = {"DTCTL_TLS_CA": "a", "DTCTL_TLS_CERT": "b", "DTCTL_TLS_KEY": "c"}
        self.assertEqual(self.choose(DTCTL_CONTEXT="lab").tls.cert, "/etc/dtrain/it's mine.crt")
        self.assertEqual(self.choose(DTCTL_CONTEXT="lab").tls.key, '/etc/dtrain/ü "key".key')
        self.assertEqual(self.choose(DTCTL_CONTEXT="lab", **variables).tls, TlsFiles("a", "b", "c"))
        self.assertEqual(self.choose(context="lab", **variables).tls.ca, "/etc/dtrain/ca.crt")
        given = TlsFiles("x", "y", "z")
        self.assertEqual(self.choose(context="lab", tls=given, **variables).tls, given)
        # The context's TLS files would not fit another coordinator.
        self.assertFalse(self.choose(address="127.0.0.1:1").tls)

    def test_an_unknown_context_is_named_with_those_that_there_are(self) -> None:
        with self.assertRaises(NotFoundError) as caught:
            self.choose(context="lba")
        self.assertEqual(str(caught.exception),
                         f"there is no context 'lba' in {self.path}; choose one of: local, lab")

    def test_a_file_that_dtctl_would_not_have_written_is_refused_at_its_line(self) -> None:
        for text, said in [("current: [a]\n", "line 1: '[a]', which is not a plain or quoted text"),
                           ("contexts:\n  a: {address: b}\n", "line 2: '{address: b}', which is not a plain"),
                           ("contexts: &x\n", "line 1: '&x', which is not a plain or quoted text"),
                           ("current: a\nother: b\n", "line 2: the unknown key 'other'"),
                           ("contexts:\n  a:\n    tls_ca: b\n", "context 'a' has no address"),
                           ("contexts:\n  a:\n    port: b\n", "line 3: 'port' has no place there"),
                           ("contexts:\n    a:\n      address: b\n   c:\n", "line 4: its indent fits no line above"),
                           ("- a\n", "line 1: '- a' is not 'key: value'")]:
            self.write(text)
            with self.subTest(text), self.assertRaises(UsageError) as caught:
                self.choose()
            self.assertIn(f"{self.path}: {said}", str(caught.exception))
            self.assertIn("'dtctl context add'", str(caught.exception))

    def test_a_file_that_is_not_needed_is_not_read(self) -> None:
        self.write("[")
        self.assertEqual(self.choose(DTCTL_ADDRESS="127.0.0.1:1").address, "127.0.0.1:1")


class ParsingTest(unittest.TestCase):
    def test_an_empty_file_and_empty_maps_have_no_contexts(self) -> None:
        for text in ("", "# nothing\n", "contexts: {}\n", "---\ncontexts:\n"):
            self.assertEqual(parse_contexts(text), ("", {}), text)

    def test_a_value_may_hold_the_first_characters_of_comments_and_keys(self) -> None:
        current, contexts = parse_contexts("current: a-b.c_1\ncontexts:\n  a-b.c_1:\n    address: unix:/a#b:c\n")
        self.assertEqual((current, contexts), ("a-b.c_1", {"a-b.c_1": {"address": "unix:/a#b:c"}}))


class LocalAddressTest(unittest.TestCase):
    def test_only_addresses_on_this_host_are_local(self) -> None:
        for address in ("127.0.0.1:1", "127.1.2.3:1", "localhost:1", "LOCALHOST:1", "[::1]:1", "unix:/a"):
            self.assertTrue(is_local(address), address)
        for address in ("127.0.0.1.example.org:1", "192.0.2.1:1", "example.org:1", "[::2]:1"):
            self.assertFalse(is_local(address), address)
