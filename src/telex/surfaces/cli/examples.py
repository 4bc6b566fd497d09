"""Examples in the help of each command, by its name."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    # messages
    "check": (
        "telex check update.json",
        "telex check --role dev --to lead inbox/",
        "cat update.json | telex check --json -",
    ),
    "fix": ("telex fix update.json --role dev > fixed.json",),
    "translate": ("telex translate --to build-flow update.json", "telex translate --to plain update.json"),
    "new": (
        "telex new STATUS_UPDATE --as dev-1 --to cto taskId=T1 status=COMPLETED details=Done > update.json",
        "telex new approval_request --role dev",
    ),
    "prompt": ("telex prompt --role dev --dialect vbw-typed", "telex prompt --format agents-md >> AGENTS.md"),
    "schema": (
        "telex schema STATUS_UPDATE",
        "telex schema --dialect build-flow --format typescript > build-flow.ts",
        "telex schema --dialect pipeline.toml --format python > pipeline.pyi",
    ),
    "dialects": ("telex dialects", "telex dialects vbw-typed", "telex dialects --matrix"),
    "explain": ("telex explain field-missing", "telex explain --list"),
    # the bus
    "send": (
        "telex send --as dev --to lead update.json",
        "echo done | telex send --as dev --to role:qa --wait acked -",
    ),
    "inbox": ("telex inbox --as lead", "telex inbox --as lead --full --max 5"),
    "receive": ("telex receive --as lead --wait 60", "telex receive --as lead --ack --json | jq .message"),
    "ack": ("telex ack update-1 --as lead",),
    "nack": ("telex nack update-1 --as lead --reason 'the branch is missing'",),
    "extend": ("telex extend update-1 --as lead --for 300",),
    "request": ("telex request question.json --as dev --to lead --timeout 120",),
    "worker": ("telex worker builder:worker", "telex worker builder --store http://127.0.0.1:4477"),
    "watch": ("telex watch --as lead",),
    "dead": ("telex dead",),
    "dead list": ("telex dead list --max 10",),
    "dead retry": ("telex dead retry update-1",),
    "dead drop": ("telex dead drop update-1 --reason 'out of date'",),
    # the log
    "why": ("telex why update-1",),
    "trace": (
        "telex trace release-7",
        "telex trace release-7 --format sequence",
        "telex trace release-7 --format svg -o trace.svg",
        "telex trace release-7 --format html -o release-7.html",
    ),
    "show": ("telex show update-1 --raw", "telex show update-1 --as lead"),
    "log": ("telex log --since 1h --agent dev", "telex log --export log.jsonl"),
    "events": ("telex events --follow --kind refused", "telex events --since 10m --json"),
    "search": ("telex search reset link",),
    "replay": ("telex replay --strict", "telex replay log.jsonl --until 2026-01-31T09:30:00Z"),
    "migrate-log": ("telex migrate-log log.jsonl --from vbw@1.0 --to vbw@2.0 --output new.jsonl",),
    # the work
    "contract": ("telex contract",),
    "contract list": ("telex contract list",),
    "contract show": ("telex contract show 2-1",),
    "contract diff": ("telex contract diff 2-1",),
    "contract close": ("telex contract close 2-1 --as lead --reason merged",),
    "guard": ("telex guard src/auth/login.py --as dev", "telex guard --staged --as dev"),
    "approvals": ("telex approvals", "telex approvals --all"),
    "approve": ("telex approve ask-1 --reason fine", "telex approve ask-1 --as lead --reason fine"),
    "reject": ("telex reject ask-1 --reason 'split it first'",),
    "task": ("telex task", "telex task --machine"),
    "task list": ("telex task list",),
    "task show": ("telex task show TASK-001",),
    "escalations": ("telex escalations",),
    "answer": ("telex answer blocker-1 'Use the other table.'", "telex answer blocker-1 --as lead -"),
    "work": (
        "echo 'Add dark mode' | telex work start -",
        "telex work run",
        "telex work show dark-mode",
        "telex work resume dark-mode research --say done",
    ),
    "work list": ("telex work list",),
    "work start": ("echo 'Add dark mode' | telex work start --id dark-mode -",),
    "work run": ("telex work run", "telex work run dark-mode --once"),
    "work show": ("telex work show dark-mode",),
    "work resume": ("telex work resume dark-mode research --say done",),
    "stall": ("telex stall", "telex stall --check"),
    "demo": ("telex demo --fast",),
    # the team
    "init": ("telex init claude", "telex init codex --as dev --dry-run"),
    "run": ("telex run claude --as dev", "telex run codex --as qa -- --model o3"),
    "team": ("telex team", "telex team --example > telex.toml"),
    "team join": ("telex team join ada --role dev --reads vbw-typed",),
    "team leave": ("telex team leave ada",),
    "team up": ("telex team up", "telex team up --dry-run"),
    "team shutdown": ("telex team shutdown --as lead --reason phase_complete",),
    "wake": ("telex wake dev",),
    # store and shell
    "where": ("telex where", "telex where --as dev"),
    "doctor": ("telex doctor", "telex doctor claude", "telex doctor nats://n1:4222/build --compare"),
    "backup": ("telex backup telex-backup.db", "telex backup --store /srv/team/telex.db /backup/team.db"),
    "restore": ("telex restore telex-backup.db", "telex restore telex-backup.db --force"),
    "migrate-store": (
        "telex migrate-store sqlite:.telex/telex.db nats://n1:4222,n2:4222,n3:4222/build",
        "telex migrate-store nats://n1:4222/build sqlite:telex.db",
    ),
    "upgrade-store": ("telex upgrade-store nats://n1:4222,n2:4222,n3:4222/build",),
    "completion": (
        "echo 'eval \"$(telex completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(telex completion zsh)\"' >> ~/.zshrc",
        "telex completion fish > ~/.config/fish/completions/telex.fish",
    ),
    "help": ("telex help send", "telex help environment"),
    # servers
    "serve": (
        "telex serve",
        "telex serve --host 0.0.0.0 --host-name hub.example.org --tokens-only",
        "telex serve --store nats://n1:4222,n2:4222,n3:4222/build --data /var/lib/telex",
    ),
    "token": ("telex token create --agent dev --role dev --expires 30d",),
    "token create": ("telex token create --agent dev --role dev --expires 30d", "telex token create --operator"),
    "token list": ("telex token list",),
    "token revoke": ("telex token revoke k3m9x2ab",),
    "hook": ("telex hook claude Stop --explain < event.json",),
    "mcp": ("claude mcp add telex -- telex mcp", "codex mcp add telex -- telex mcp --as dev"),
}


def examples_text(name: str) -> str:
    lines = EXAMPLES.get(name, ())
    return (
        f"{'Example' if len(lines) == 1 else 'Examples'}:\n" + "".join(f"  {line}\n" for line in lines) if lines else ""
    )
