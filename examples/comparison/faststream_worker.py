"""The worker of the comparison in FastStream on NATS JetStream. Start: `faststream run faststream_worker:app`."""

import os
from typing import Any, Literal

from faststream import AckPolicy, FastStream
from faststream.nats import JStream, NatsBroker, NatsResponse, PullSub
from nats.js.api import ConsumerConfig
from pydantic import BaseModel
from work import do


class TaskAssignment(BaseModel):
    messageId: str
    taskId: str
    title: str
    description: str
    phase: float
    dependencies: list[str]
    context: dict[str, Any]


class StatusUpdate(BaseModel):
    taskId: str
    status: Literal["STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED"]
    details: str = ""


broker = NatsBroker(os.environ.get("NATS_URL", "nats://127.0.0.1:4222"))
app = FastStream(broker)
team = JStream("team", subjects=["dev.tasks", "lead.replies"])


@broker.subscriber(
    "dev.tasks",
    stream=team,
    durable="dev",
    pull_sub=PullSub(batch_size=4, timeout=1),
    config=ConsumerConfig(ack_wait=5, max_deliver=3),
    ack_policy=AckPolicy.NACK_ON_ERROR,
)
@broker.publisher("lead.replies", stream=team)
async def build(task: TaskAssignment) -> NatsResponse:
    details = await do(task.description)
    reply = StatusUpdate(taskId=task.taskId, status="COMPLETED", details=details)
    return NatsResponse(reply, headers={"Nats-Msg-Id": f"{task.messageId}.reply"})
