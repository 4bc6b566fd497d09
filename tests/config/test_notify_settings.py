"""Settings of alerts: where they are read from, what is refused, and where secrets come from."""

from pathlib import Path

import pytest

from telex.config import load
from telex.config.notify import NotifySettings, load_notify, read_notify
from telex.config.settings import NOTIFY, NOTIFY_BOUNDS, notify_example
from telex.errors import SettingsError
from telex.project import notify_file, user_folder
from tests.proofs import proves

FILE = "/home/ada/.config/telex/notify.toml"
SECRET = "a secret of thirty-two characters"


def parsed(text: str, **environment: str) -> NotifySettings:
    return read_notify(FILE, "[notify]\n" + text, environment)


def problems(text: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        parsed(text, **environment)
    return caught.value.say


@proves("alerts/settings")
def test_every_target_can_be_set_and_the_rest_has_defaults() -> None:
    settings = parsed(
        'command = ["notify-send", "Telex"]\nwebhook = "https://example.org/hook"\nwebhook_secret = "env:KEY"\n'
        'ntfy = "https://ntfy.example.org/team/"\nslack = "env:SLACK"\nlinks = true\n'
        'public_url = "https://hub.example.org/"\nkinds = ["approval", "stall"]\nbatch_seconds = 2',
        KEY=SECRET,
        SLACK="https://hooks.example.org/T/B/x",
    )
    assert settings.targets == ("command", "webhook", "ntfy", "slack")
    assert (settings.webhook_secret, settings.slack) == (SECRET, "https://hooks.example.org/T/B/x")
    assert (settings.ntfy, settings.public_url) == ("https://ntfy.example.org/team", "https://hub.example.org")
    assert (settings.kinds, settings.batch_seconds, settings.link_seconds) == (("approval", "stall"), 2.0, 86_400.0)


@proves("alerts/settings")
@pytest.mark.parametrize(
    "text, says",
    [
        ('webhok = "x"', "did you mean webhook?"),
        ('webhook = "https://example.org/"', "add webhook_secret"),
        ('webhook = "https://example.org/"\nwebhook_secret = "' + SECRET + '"', "a secret is not written here"),
        ('webhook = "https://example.org/"\nwebhook_secret = "env:NONE"', "the variable NONE is not set"),
        ('webhook = "https://example.org/"\nwebhook_secret = "file:nowhere"', "nowhere cannot be read"),
        ('webhook = "https://example.org/"\nwebhook_secret = "env:SHORT"', "fewer than 16 characters"),
        ('webhook = "ftp://example.org/"', "begins with https://"),
        ('webhook = "https://ada:word@example.org/"', "leave user and password out"),
        ('slack = "https://hooks.example.org/a b"', "begins with https://"),
        ('ntfy = "https://ntfy.sh/"', "add the topic"),
        ('command = "notify-send Telex"', "expected a list"),
        ("command = []", "the program first"),
        ('kinds = ["approvals"]', "did you mean approval?"),
        ("batch_seconds = -1", "a number from 0"),
        ("link_seconds = 1e6", "a number from 60"),
        ('links = "yes"', "links"),
    ],
)
def test_a_wrong_setting_is_an_error_with_its_line(text: str, says: str) -> None:
    said = problems(text, SHORT="short")
    assert says in said
    assert "notify.toml:" in said


@proves("alerts/settings")
def test_a_secret_is_read_from_a_file_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "webhook.key").write_text(f"{SECRET}\n")
    path = tmp_path / "notify.toml"
    path.write_text('[notify]\nwebhook = "https://example.org/"\nwebhook_secret = "file:webhook.key"\n')
    settings = load_notify(str(path))
    assert settings is not None
    assert settings.webhook_secret == SECRET
    assert settings.source == str(path)


@proves("alerts/command")
def test_a_relative_command_is_beside_the_settings_and_not_in_the_project() -> None:
    assert parsed('command = ["./tell.sh", "./x"]').command == ("/home/ada/.config/telex/./tell.sh", "./x")
    assert parsed('command = ["notify-send"]').command == ("notify-send",)


@proves("alerts/project")
@pytest.mark.parametrize("text", ['command = ["touch", "pwned"]', 'ntfy = "https://evil.example.org/x"', ""])
def test_a_project_cannot_choose_where_alerts_go(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELEX_CONFIG", raising=False)
    (tmp_path / "telex.toml").write_text(f"[notify]\n{text}\n")
    with pytest.raises(SettingsError, match="a project cannot choose where alerts go"):
        load(str(tmp_path))


@proves("alerts/project")
def test_the_users_file_is_in_the_configuration_folder_and_may_be_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notify.toml").write_text('[notify]\ncommand = ["touch", "pwned"]\n')
    assert notify_file() == str(tmp_path / "telex/notify.toml")
    assert load_notify() is None
    (tmp_path / "telex").mkdir()
    (tmp_path / "telex/notify.toml").write_text('[notify]\ncommand = ["notify-send"]\n')
    settings = load_notify()
    assert settings is not None
    assert settings.command == ("notify-send",)


@proves("alerts/project")
@pytest.mark.parametrize(
    "variables", [{"XDG_CONFIG_HOME": "conf"}, {"XDG_CONFIG_HOME": "", "HOME": "."}, {"HOME": "~"}]
)
def test_the_users_folder_is_never_one_of_the_project(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for folder in ("conf", ".config", "~/.config"):
        (tmp_path / folder / "telex").mkdir(parents=True)
        (tmp_path / folder / "telex/notify.toml").write_text('[notify]\ncommand = ["touch", "pwned"]\n')
    assert load_notify() is None
    assert not Path(user_folder()).is_relative_to(tmp_path)  # it also has the hubs that may get a token


def test_a_file_that_is_named_must_exist_and_one_without_targets_sends_nothing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_notify(str(tmp_path / "nowhere.toml"))
    (tmp_path / "notify.toml").write_text("[notify]\nlinks = true\n")
    assert load_notify(str(tmp_path / "notify.toml")) is None


def test_the_example_names_every_setting_and_is_valid() -> None:
    text = notify_example()
    assert all(f"\n# {name} = " in text for name in (*NOTIFY, *NOTIFY_BOUNDS))
    assert read_notify(FILE, text, {}) == NotifySettings(source=FILE)
