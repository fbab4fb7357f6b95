"""Conversations that wait for somebody: approvals, desks, specialists and workflows."""

from __future__ import annotations

from tests.upgrade.people import World, make_id


class Approval:
    """A tool call that waits for the user's decision."""

    def begin(self, world: World) -> None:
        world.person("eve").ask("refund", "Please refund A-1001")

    def go_on(self, world: World) -> None:
        eve = world.person("eve")
        [interrupt] = eve.thread("refund")["interrupts"]
        decision = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        eve.run("refund", resume=[decision])
        assert eve.texts("refund")[-1] == "Refunded A-1001."
        assert eve.thread("refund")["interrupts"] == []


class DeskWaiting:
    """A user who waits for people."""

    def begin(self, world: World) -> None:
        finn = world.person("finn")
        finn.ask("queue", "Hello")
        finn.ask("queue", "I want to talk to a human")

    def go_on(self, world: World) -> None:
        finn, anna = world.person("finn"), world.person("anna", "desk:answer")
        waiting = {item["threadId"] for item in anna.items("/desk?status=waiting")}
        assert make_id("queue") in waiting
        path = f"/threads/{make_id('queue')}/desk"
        anna.post(f"{path}/take")
        anna.post(f"{path}/messages", {"messageId": make_id("from anna"), "content": "How can I help?"})
        finn.ask("queue", "Thanks")
        anna.post(f"{path}/return", {"note": "Done"})
        assert "How can I help?" in finn.texts("queue")
        assert finn.ask("queue", "Bye")["messages"][-1]["content"] == "You said: Bye"


class DeskTaken:
    """A conversation that a person has taken over and written in."""

    def begin(self, world: World) -> None:
        gwen, anna = world.person("gwen"), world.person("anna", "desk:answer")
        gwen.ask("person", "I want to talk to a human")
        path = f"/threads/{make_id('person')}/desk"
        anna.post(f"{path}/take")
        anna.post(f"{path}/messages", {"messageId": make_id("first of anna"), "content": "I am Anna."})
        anna.request("POST", f"{path}/notes", {"messageId": make_id("note"), "text": "She is angry."})

    def go_on(self, world: World) -> None:
        gwen, anna = world.person("gwen"), world.person("anna", "desk:answer")
        path = f"/threads/{make_id('person')}/desk"
        assert [note["text"] for note in anna.read(path)["notes"]] == ["She is angry."]
        gwen.ask("person", "Hello Anna")
        anna.post(f"{path}/messages", {"messageId": make_id("second of anna"), "content": "Hello Gwen."})
        anna.post(f"{path}/return", {"note": "Calm now"})
        texts = gwen.texts("person")
        assert texts.index("I am Anna.") < texts.index("Hello Anna") < texts.index("Hello Gwen.")
        assert gwen.thread("person")["state"]["activeAgent"]["id"] == "assistant"


class Workflow:
    """A specialist in the middle of a workflow."""

    def begin(self, world: World) -> None:
        hugo = world.person("hugo")
        hugo.ask("return", "I want to send back an order")
        hugo.ask("return", "It is A-1002")

    def go_on(self, world: World) -> None:
        hugo = world.person("hugo")
        thread = hugo.thread("return")
        assert (thread["state"]["activeAgent"]["id"], thread["state"]["workflow"]["state"]) == ("returns", "REASON")
        hugo.ask("return", "because it is broken")
        assert hugo.thread("return")["state"]["activeAgent"]["id"] == "assistant"
        [done] = hugo.items("/workflows/completed")
        assert done["data"] == {"ORDER": {"number": "A-1002"}, "REASON": {"reason": "it is broken"}}


class UnfinishedWorkflow:
    """A workflow that the user has left, and may continue."""

    def begin(self, world: World) -> None:
        ines = world.person("ines")
        ines.ask("left", "I want to send back an order")
        ines.ask("left", "It is A-1003")
        ines.post(f"/threads/{make_id('left')}/exit")

    def go_on(self, world: World) -> None:
        ines = world.person("ines")
        [workflow] = ines.items("/workflows")
        ines.post(f"/threads/{make_id('left')}/continue", {"workflowId": workflow["id"]})
        ines.ask("left", "because it is green")
        [done] = ines.items("/workflows/completed")
        assert done["data"] == {"ORDER": {"number": "A-1003"}, "REASON": {"reason": "it is green"}}
