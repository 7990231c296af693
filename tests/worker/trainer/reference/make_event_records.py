"""Prints the bytes that TensorBoard's own writer and messages make from the events in tracking_test.cc.

pip install tensorboard; python3 make_event_records.py
"""

import io

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.hparams import metadata, plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

WALL = 1700000000.5


class Kept(io.BytesIO):
    def close(self) -> None:  # the writer closes its file
        pass


def record(event: event_pb2.Event) -> str:
    kept = Kept()
    RecordWriter(kept).write(event.SerializeToString(deterministic=True))
    return kept.getvalue().hex()


def plugin(tag: str, data: plugin_data_pb2.HParamsPluginData) -> event_pb2.Event:
    data.version = metadata.PLUGIN_DATA_VERSION
    value = summary_pb2.Summary.Value(tag=tag)
    value.tensor.CopyFrom(metadata.NULL_TENSOR)
    value.metadata.plugin_data.plugin_name = metadata.PLUGIN_NAME
    value.metadata.plugin_data.content = data.SerializeToString(deterministic=True)
    return event_pb2.Event(wall_time=WALL, summary=summary_pb2.Summary(value=[value]))


scalars = summary_pb2.Summary(value=[
    summary_pb2.Summary.Value(tag="train/loss", simple_value=2.5),
    summary_pb2.Summary.Value(tag="val/loss", simple_value=float("nan")),
])
start = plugin_data_pb2.SessionStartInfo(group_name="12/3", start_time_secs=WALL)
start.hparams["data.shuffle"].bool_value = True
start.hparams["optimizer.lr"].number_value = 6e-4
start.hparams["schedule.type"].string_value = "cosine"
end = plugin_data_pb2.SessionEndInfo(status="STATUS_SUCCESS", end_time_secs=WALL)
restart = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
for name, event in {
    "version": event_pb2.Event(wall_time=WALL, file_version="brain.Event:2"),
    "restart": event_pb2.Event(wall_time=WALL, step=301, session_log=restart),
    "scalars": event_pb2.Event(wall_time=WALL, step=300, summary=scalars),
    "settings": plugin(metadata.SESSION_START_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_start_info=start)),
    "end": plugin(metadata.SESSION_END_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_end_info=end)),
}.items():
    print(name, record(event))
