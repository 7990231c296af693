"""Which coordinator a client chooses; needs no coordinator."""

import json
import pathlib
import tempfile
import unittest

from dtrain import NotFoundError, TlsFiles, UsageError
from dtrain._config import choose, parse_contexts
from dtrain._connection import is_local

FILE = """{
  "current": "local",
  "contexts": {
    "local": {"address": "127.0.0.1:41234"},
    "lab": {
      "address": "alpha.example:7600",
      "tls_ca": "/etc/dtrain/ca.crt",
      "tls_cert": "/etc/dtrain/it's mine.crt",
      "tls_key": "/etc/dtrain/\\u00fc \\"key\\".key"
    }
  }
}
"""


class ChoosingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        self.path = pathlib.Path(folder.name) / "dtrain/contexts.json"
        self.path.parent.mkdir()
        self.write(FILE)

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
        lab = {"address": "a.example:7600", "token_file": own}
        self.write(json.dumps({"current": "lab", "contexts": {"lab": lab}}))
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

    def test_a_damaged_file_is_refused_with_its_place_and_the_fix(self) -> None:
        for text, said in [("", "line 1, column 1: "), ('{"current": "a",\n "contexts": {', "line 2, column 15: "),
                           ("[]", "it is not an object"), ('{"other": "b"}', "the unknown key 'other'"),
                           ('{"current": 1}', "'current' is not a text"),
                           ('{"contexts": {"a": {"tls_ca": "b"}}}', "context 'a' has no address"),
                           ('{"contexts": {"a": "b"}}', "context 'a' has no address"),
                           ('{"contexts": {"a": {"address": "b", "port": "c"}}}', "'port' of context 'a' is unknown"),
                           ('{"contexts": {"a": {"address": ["b"]}}}', "'address' of context 'a' is unknown, or not"),
                           ("[" * 60000, "its values are nested too deeply"),
                           (" " * 70000, "it has more than 65536")]:
            self.write(text)
            with self.subTest(text[:60]), self.assertRaises(UsageError) as caught:
                self.choose()
            self.assertIn(f"{self.path}: {said}", str(caught.exception))
            self.assertIn("'dtctl context add'", str(caught.exception))

    def test_the_file_of_an_older_dtctl_is_named_with_the_command_that_converts_it(self) -> None:
        self.path.unlink()
        old = self.path.with_name("config.yaml")
        old.write_text("current: lab\ncontexts:\n  lab:\n    address: a.example:7600\n", encoding="utf-8")
        with self.assertRaises(UsageError) as caught:
            self.choose()
        self.assertIn(f"{old} has the contexts of an older dtctl", str(caught.exception))
        self.assertIn(f"run 'dtctl context list' once, which writes {self.path} from it", str(caught.exception))
        self.assertEqual(self.choose(DTCTL_ADDRESS="127.0.0.1:1").address, "127.0.0.1:1")
        self.write(FILE)
        self.assertEqual(self.choose().context, "local")

    def test_a_file_that_is_not_needed_is_not_read(self) -> None:
        self.write("[")
        self.assertEqual(self.choose(DTCTL_ADDRESS="127.0.0.1:1").address, "127.0.0.1:1")


class ParsingTest(unittest.TestCase):
    def test_a_file_without_contexts_has_none(self) -> None:
        for text in ("{}", '{"contexts": {}}', '{"current": null, "contexts": null}'):
            self.assertEqual(parse_contexts(text), ("", {}), text)


class LocalAddressTest(unittest.TestCase):
    def test_only_addresses_on_this_host_are_local(self) -> None:
        for address in ("127.0.0.1:1", "127.1.2.3:1", "localhost:1", "LOCALHOST:1", "[::1]:1", "unix:/a"):
            self.assertTrue(is_local(address), address)
        for address in ("127.0.0.1.example.org:1", "192.0.2.1:1", "example.org:1", "[::2]:1"):
            self.assertFalse(is_local(address), address)
