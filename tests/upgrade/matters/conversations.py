"""Conversations: open ones, answers that were repeated, forks, closed sessions and runs whose worker is gone."""

from __future__ import annotations

from tests.upgrade.people import World, make_id, receive_until, send, wait_for


class Conversation:
    """An open conversation with a rated answer, a title, a tool call and a question that was asked again."""

    def begin(self, world: World) -> None:
        ada = world.person("ada")
        ada.ask("talk", "Hello")
        ada.ask("talk", "Please find A-1001")
        ada.ask("talk", "May I return it?")
        answer = ada.items(f"/threads/{make_id('talk')}/messages")[1]
        path = f"/threads/{make_id('talk')}/messages/{answer['id']}/feedback"
        ada.request("POST", path, {"rating": "up", "comment": "Nice"})
        ada.request("PATCH", f"/threads/{make_id('talk')}", {"title": "About a lamp"})
        ada.ask("talk", "Bye", timeZone="Europe/Vienna")
        ada.ask("talk", "Good-bye", branch={"from": make_id("talk Bye")})

    def go_on(self, world: World) -> None:
        ada = world.person("ada")
        texts = ada.texts("talk")
        assert texts[:4] == ["Hello", "You said: Hello", "Please find A-1001", "A-1001 is on its way."]
        assert texts[5] == "Goods may be returned within 30 days."
        thread = ada.thread("talk")
        assert (thread["title"], thread["status"], thread["lastError"]) == ("About a lamp", "active", None)
        rated = ada.items(f"/threads/{make_id('talk')}/messages")[1]
        assert rated["feedback"]["rating"] == "up"
        assert texts[6:] == ["Good-bye", "You said: Good-bye"]
        assert len(ada.items(f"/threads/{make_id('talk')}/branches")) == 2
        calls = ada.items(f"/threads/{make_id('talk')}/tool-calls")
        assert {"number": "A-1001"} in [call["input"] for call in calls]
        repeated = ada.ask("talk", "Hello")
        assert repeated["messages"][-1]["content"] == "You said: Hello"
        ada.ask("talk", "Are you there?")
        assert ada.texts("talk") == [*texts, "Are you there?", "You said: Are you there?"]


class ClosedSession:
    """A session that was closed, whose episode is complete."""

    def begin(self, world: World) -> None:
        bob = world.person("bob")
        bob.ask("over", "I have a teapot")
        bob.ask("over", "Please find A-1004")
        episode = bob.post(f"/threads/{make_id('over')}/close")["episodeId"]
        wait_for(lambda: _is_complete(bob.try_request("GET", f"/episodes/{episode}").json()))

    def go_on(self, world: World) -> None:
        bob = world.person("bob")
        [episode] = bob.items("/episodes")
        assert "teapot" in bob.read(f"/episodes/{episode['id']}")["summary"]
        results = bob.post("/episodes/search", {"query": "teapot"})["items"]
        assert results
        bob.ask("over", "Hello again")
        assert bob.texts("over")[-1] == "You said: Hello again"
        second = bob.post(f"/threads/{make_id('over')}/close")["episodeId"]
        wait_for(lambda: _is_complete(bob.try_request("GET", f"/episodes/{second}").json()))


def _is_complete(episode: dict[str, object]) -> bool:
    return episode.get("status") == "complete"


class LostRun:
    """A run whose worker was killed while it answered, with a message that waited for it."""

    def begin(self, world: World) -> None:
        carl = world.person("carl")
        with carl.connect() as connection:
            send(connection, "message", threadId=make_id("lost"), messageId=make_id("story"), content="A long story")
            receive_until(connection, "TEXT_MESSAGE_CONTENT")
            send(connection, "message", threadId=make_id("lost"), messageId=make_id("next"), content="And now?")
            receive_until(connection, "CUSTOM")

    def go_on(self, world: World) -> None:
        carl = world.person("carl")
        wait_for(lambda: carl.texts("lost")[-1:] == ["You said: And now?"])
        texts = carl.texts("lost")
        assert (texts[0], texts[2]) == ("A long story", "And now?")
        assert texts[1].count("Once upon a time") == 100


class Fork:
    """A fork that its parent does not have yet."""

    def begin(self, world: World) -> None:
        dora = world.person("dora")
        dora.ask("parent", "Compare two lamps")
        response = dora.post(
            f"/threads/{make_id('parent')}/fork", {"agentId": "assistant", "includeHistoryMessages": 10}
        )
        dora.post("/messages", {"sessionId": response["id"], "message": "The first one", "messageId": make_id("first")})

    def go_on(self, world: World) -> None:
        dora = world.person("dora")
        [fork] = dora.items(f"/threads?parentThreadId={make_id('parent')}")
        body = {"sessionId": fork["id"], "message": "The second one", "messageId": make_id("second")}
        assert dora.post("/messages", body)["messages"][-1]["content"] == "You said: The second one"
        dora.post(f"/threads/{fork['id']}/merge")
        assert any("The second one" in text for text in dora.texts("parent"))
