"""Location of a project: its telex.toml, its repository, the main work tree of linked ones, the folder of its store.

A team has one store, whatever folder its agents work in. Linked git worktrees share that of the main work tree, and
subfolders that of the repository's top. Git is not started: a cold command reads `.git` itself, with a few stat calls,
and `telex check` imports this and not `config`.
"""

import os
from itertools import islice

from telex.model.named_tuple import NamedTuple

TYPE_CHECKING = False  # the import of typing or collections would cost a hook more than its work
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SETTINGS = "telex.toml"
VARIABLE = "TELEX_CONFIG"  # path of the settings
GIT = ".git"  # a folder; a file in a linked work tree and in a submodule
STORE_FOLDER = ".telex"
FOLDERS_MAX = 50_000  # searched for stray stores
_BYTES_MAX = 8_192  # of a file that names another
_KIND, _LINK = 0o170000, 0o120000  # as in stat.S_IFMT and stat.S_IFLNK, which cost an import


class WorkTree(NamedTuple):
    top: str  # of the work tree that a folder is in; of the repository around it, in a submodule
    main: str  # top of the main work tree; of a bare repository, which has none, its git folder


def find_settings(folder: str) -> str | None:
    """The telex.toml of this folder: in it or above it. A linked work tree that has none uses the one of the
    main work tree, since they share a store."""
    named = os.environ.get(VARIABLE)
    if named:
        return os.path.abspath(named)
    folder = os.path.abspath(folder)
    while not os.path.isfile(os.path.join(folder, SETTINGS)):
        above = _main_work_tree(folder) or os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return os.path.join(folder, SETTINGS)


def user_folder() -> str:
    """The user's own settings of Telex, which no project can change: a relative path would be one of the project."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):  # as the specification of that variable says
        config = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config if os.path.isabs(config) else f"{os.sep}.config", "telex")


def notify_file() -> str:
    """Path of the user's notify.toml, the settings of alerts. It need not exist."""
    return os.path.join(user_folder(), "notify.toml")


def work_tree(folder: str) -> WorkTree | None:
    """The work tree that a folder is in; None: it is in no repository. A submodule is part of the repository around it,
    unless it has settings of its own."""
    tree: WorkTree | None = None
    top = nearest(folder, GIT)
    while top is not None:
        git = _git_folder(top)
        if git is not None and os.path.exists(os.path.join(git, "commondir")):
            return WorkTree(top, _main(top, git))
        tree = WorkTree(top, top)
        if git is None or os.path.exists(os.path.join(top, SETTINGS)):
            return tree
        above = os.path.dirname(top)
        top = nearest(above, GIT) if above != top else None
    return tree


def _main_work_tree(top: str) -> str | None:
    """The main work tree of a linked one with this top; None: this is no top of a linked one."""
    git = _git_folder(top) if os.path.isfile(os.path.join(top, GIT)) else None
    if git is None or not os.path.exists(os.path.join(git, "commondir")):
        return None
    main = _main(top, git)
    return main if main != top else None


def linked_work_trees(main: str) -> list[str]:
    """Tops of the work trees that are linked to this main work tree, or to this bare repository."""
    git = os.path.join(main, GIT) if os.path.isdir(os.path.join(main, GIT)) else main
    try:
        names = sorted(os.listdir(os.path.join(git, "worktrees")))
    except OSError:
        return []
    marks = [_named_in(os.path.join(git, "worktrees", name, "gitdir"), "") for name in names]
    return [os.path.dirname(mark) for mark in marks if mark is not None]


def shared_folder(folder: str) -> str:
    """The folder, or the one at its place in the main work tree."""
    return _in_main(folder, work_tree(folder))


def _in_main(folder: str, tree: WorkTree | None) -> str:
    if tree is None or tree.main == tree.top or not is_inside(folder, tree.top):
        return folder
    there = os.path.normpath(os.path.join(tree.main, os.path.relpath(folder, tree.top)))
    # A symbolic link in the main work tree may lead out of it.
    return there if is_inside(os.path.realpath(there), os.path.realpath(tree.main)) else tree.main


def store_folder(folder: str, settings: str | None) -> str:
    """The folder in which the project of `folder` has its `.telex`. `settings`: its telex.toml, if it has one."""
    tree = work_tree(folder)
    beside = os.path.dirname(settings) if settings is not None else None
    if tree is None:
        return nearest(folder, STORE_FOLDER, os.path.isdir) or beside or folder
    return _in_main(beside or tree.top, tree)


def root_of(folder: str) -> str:
    """The root of the project that a folder is in, from which contracts name its files: the folder of its telex.toml,
    or the top of its work tree, or the folder itself."""
    tree = work_tree(folder)
    if tree is None:
        return nearest(folder, STORE_FOLDER, os.path.isdir) or folder
    beside = nearest(folder, SETTINGS)
    return beside if beside is not None and is_inside(beside, tree.top) else tree.top


def nearest(folder: str, mark: str, exists: "Callable[[str], bool]" = os.path.lexists) -> str | None:
    """The folder, or the nearest one above it, that has an entry of this name."""
    while not exists(os.path.join(folder, mark)):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def stray_stores(folder: str, file: str) -> list[str]:
    """Stores in the work trees of this folder's repository that no command uses: in folders whose project has its store
    elsewhere. `file`: the name of a store in its folder."""
    tree = work_tree(folder)
    tops = [] if tree is None else [tree.main, *linked_work_trees(tree.main)]
    folders = islice((path for top in tops for path in _folders(top)), FOLDERS_MAX)
    stores = {os.path.realpath(os.path.join(path, STORE_FOLDER, file)): path for path in folders}
    return [store for store, path in stores.items() if os.path.isfile(store) and not _is_used(path)]


def _folders(top: str) -> "Iterator[str]":
    for path, names, _ in os.walk(top):
        names[:] = [name for name in names if not name.startswith(".") and name != "node_modules"]
        yield path


def _is_used(folder: str) -> bool:
    """Whether commands in this folder use the store in it."""
    settings = None if os.environ.get(VARIABLE) else find_settings(folder)
    return _is_same(store_folder(folder, settings), folder)


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _git_folder(top: str) -> str | None:
    """The git folder that a file `.git` names; None: it is a folder, or names none."""
    return _named_in(os.path.join(top, GIT), "gitdir: ")


def _named_in(file: str, prefix: str) -> str | None:
    """The path that a file of git names, from its own folder."""
    try:
        with open(file, "rb") as opened:
            text = os.fsdecode(opened.read(_BYTES_MAX)).rstrip("\r\n")
    except OSError:
        return None
    path = text.removeprefix(prefix)
    if not text.startswith(prefix) or not path or "\0" in path:
        return None
    return os.path.normpath(os.path.join(os.path.dirname(file), path))


def _main(top: str, git: str) -> str:
    """The main work tree, if both sides agree on the link: any folder may claim to be linked."""
    worktrees = os.path.dirname(git)
    back = _named_in(os.path.join(git, "gitdir"), "")
    if os.path.basename(worktrees) != "worktrees" or back is None or not _is_same(os.path.dirname(back), top):
        return top
    common = os.path.dirname(worktrees)
    return os.path.dirname(common) if os.path.basename(common) == GIT else common


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


# --- files of a project -----------------------------------------------------------------------------------------------
def from_root(path: str, folder: str, root: str) -> str:
    """A path given in a folder of the project, relative to the project's root. One outside stays as it is: the guard
    refuses it."""
    if os.path.isabs(path):
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        for absolute, base in ((path, root), (real, os.path.realpath(root))):
            if is_inside(absolute, base):
                return absolute[len(base.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
    here = os.path.relpath(folder, root).replace(os.sep, "/")
    return path if here == "." or not path or path[0] in "/~\\" else f"{here}/{path}"


class LinkResolver:
    """Follows symbolic links of a project. The folder of a path is resolved once."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._folders: dict[str, str | None] = {"": ""}

    def leads_to(self, path: str) -> str | None:
        """Target of a normal path, relative to the project's root; None when it is outside."""
        folder, _, name = path.rstrip("/").rpartition("/")
        above = ""
        for part in folder.split("/") if folder not in self._folders else ():
            inner = f"{above}/{part}" if above else part
            if inner not in self._folders:
                self._folders[inner] = self._resolve(above, part, inner)
            above = inner
        return self._resolve(folder, name, path.rstrip("/"))

    def _resolve(self, folder: str, name: str, path: str) -> str | None:
        """Target of a name in a folder that is resolved."""
        target = self._folders[folder]
        if target is None:
            return None
        return self._target(path) if self._is_link(path) else f"{target}/{name}" if target else name

    def _is_link(self, path: str) -> bool:
        try:
            return os.lstat(f"{self._root}/{path}").st_mode & _KIND == _LINK
        except (OSError, ValueError):  # it does not exist
            return False

    def _target(self, path: str) -> str | None:
        target = os.path.realpath(f"{self._root}/{path}")
        if target == self._root:
            return ""
        above = self._root.rstrip(os.sep) + os.sep
        return target[len(above) :].replace(os.sep, "/") if target.startswith(above) else None
