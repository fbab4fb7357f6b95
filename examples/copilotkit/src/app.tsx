// One conversation with Baton, made with CopilotKit's hooks: the page draws what they give.

import { CopilotKitProvider, useAgent, useCopilotKit, useFrontendTool } from "@copilotkit/react-core/v2";
import { type FormEvent, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { BatonAgent, type Interrupt, type Stored } from "./baton.ts";

type State = {
  activeAgent?: { name: string };
  workflow?: { label: string; step: number; steps: number } | null;
};
type Activity = { label?: string; agents?: { id: string; name: string; status: string }[]; notice?: string };
type Message = BatonAgent["messages"][number];

const threadId = sessionStorage.getItem("thread") ?? crypto.randomUUID();
sessionStorage.setItem("thread", threadId);
const baton = new BatonAgent(threadId, new URLSearchParams(location.search).get("agent"));
baton.agentId = "default"; // the key under which CopilotKit knows it

function Chat({ asked, running }: { asked: Interrupt[]; running: boolean }) {
  const { agent } = useAgent();
  const { copilotkit } = useCopilotKit();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const [open, setOpen] = useState(asked);
  const messages = agent.messages;
  const { activeAgent, workflow } = agent.state as State;

  useFrontendTool({
    name: "change_background",
    description: "Changes the colour of the page's background.",
    parameters: z.object({ color: z.string().describe("A CSS colour.") }),
    handler: async ({ color }) => {
      document.body.style.background = color.replaceAll(" ", "");
      return { background: getComputedStyle(document.body).backgroundColor };
    },
  });

  // The run in progress is followed: the agent does not begin it again. useAgent has subscribed by now.
  useEffect(() => void (running && run()), []);

  /** Begin a run; `resume` answers what the last one asked. CopilotKit runs the page's tools and goes on by itself. */
  async function run(resume?: { interruptId: string; status: "resolved"; payload: unknown }[]): Promise<void> {
    setProblem("");
    setOpen([]);
    try {
      await copilotkit.runAgent({ agent, ...(resume && { resume }) });
    } catch (error) {
      setProblem(String(error));
    }
    setOpen([...(agent.pendingInterrupts as Interrupt[])]);
  }

  function send(event: FormEvent): void {
    event.preventDefault();
    if (text.trim() === "" || agent.isRunning || open.length > 0) return;
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    setText("");
    void run();
  }

  function regenerate(): void {
    agent.setMessages(messages.slice(0, messages.findLastIndex(({ role }) => role === "user") + 1));
    void run();
  }

  function answer(approved: boolean): void {
    const payload = approved ? { approved } : { approved, reason: "The user refused." };
    void run(open.map(({ id }) => ({ interruptId: id, status: "resolved", payload })));
  }

  return (
    <main>
      <header>
        <strong className="agent">{activeAgent?.name ?? "Assistant"}</strong>
        <span className="step">{workflow && `Step ${workflow.step} of ${workflow.steps}: ${workflow.label}`}</span>
        <button type="button" onClick={startAnew}>
          New conversation
        </button>
      </header>
      <div className="messages">
        {messages.map((message) => (
          <Shown key={message.id} message={message} />
        ))}
        {open.length > 0 && (
          <div role="group" aria-label="Approval" className="tool">
            <p>{open.map(({ message }) => message).join(" ")}</p>
            <button type="button" onClick={() => answer(true)}>
              Approve
            </button>{" "}
            <button type="button" onClick={() => answer(false)}>
              Refuse
            </button>
          </div>
        )}
        {messages.at(-1)?.role !== "user" && messages.length > 0 && !agent.isRunning && open.length === 0 && (
          <button type="button" onClick={regenerate}>
            Regenerate
          </button>
        )}
      </div>
      {problem && <p className="problem">{problem}</p>}
      <footer>
        <form onSubmit={send}>
          <input aria-label="Your message" value={text} onChange={({ target }) => setText(target.value)} />
          {agent.isRunning ? (
            <button type="button" onClick={() => agent.abortRun()}>
              Stop
            </button>
          ) : (
            <button type="submit">Send</button>
          )}
        </form>
      </footer>
    </main>
  );
}

function Shown({ message }: { message: Message }) {
  if (message.role === "activity") {
    const { label, agents = [], notice } = message.content as Activity;
    return (
      <section className={`activity ${message.activityType}`} aria-label={message.activityType}>
        <span className="label">{label}</span> {notice}
        <ul>
          {agents.map(({ id, name, status }) => (
            <li key={id}>{`${name}: ${status}`}</li>
          ))}
        </ul>
      </section>
    );
  }
  if (message.role !== "user" && message.role !== "assistant") return null;
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return (
    <article className={message.role}>
      {typeof message.content === "string" && message.content !== "" && <div className="text">{message.content}</div>}
      {calls.map(({ id, function: called }) => (
        <div key={id} className="tool">
          <code>{`${called.name} ${called.arguments}`}</code>
        </div>
      ))}
    </article>
  );
}

function startAnew(): void {
  sessionStorage.removeItem("thread");
  location.reload();
}

function show({ messages, interrupts, state, running }: Stored): void {
  const asked = interrupts.filter(({ reason }) => reason === "tool_approval");
  baton.setMessages(messages);
  baton.setState((state ?? {}) as never);
  baton.pendingInterrupts = asked as never;
  root.render(
    <CopilotKitProvider selfManagedAgents={{ default: baton }}>
      <Chat asked={asked} running={running} />
    </CopilotKitProvider>,
  );
}

// Read first, shown then: what is said meanwhile would be replaced.
const root = createRoot(document.getElementById("app") ?? document.body);
baton.load().then(show, (error: Error) => root.render(<p className="problem">{error.message}</p>));
