// One conversation with Baton, made of assistant-ui's parts.

import type { Message } from "@ag-ui/client";
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AuiIf,
  ComposerPrimitive,
  ErrorPrimitive,
  ExportedMessageRepository,
  MessagePrimitive,
  type ThreadHistoryAdapter,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useAssistantTool,
} from "@assistant-ui/react";
import { fromAgUiMessages, useAgUiRuntime, useAgUiState } from "@assistant-ui/react-ag-ui";
import { type ReactNode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { BatonAgent, type Stored } from "./baton.ts";

type State = {
  activeAgent: { name: string };
  workflow: { label: string; step: number; steps: number } | null;
};
type Activity = { label?: string; agents?: { id: string; name: string; status: string }[]; notice?: string };

const threadId = sessionStorage.getItem("thread") ?? crypto.randomUUID();
sessionStorage.setItem("thread", threadId);
const agent = new BatonAgent(threadId, new URLSearchParams(location.search).get("agent"));

/** What Baton has stored, as assistant-ui wants it. There is nothing to append: Baton stores what it is sent. */
function historyOf({ messages, interrupts, state, running }: Stored): ThreadHistoryAdapter {
  const asking = messages.findLast(({ role }) => role === "assistant");
  // assistant-ui shows the buttons of an approval on the call that it is about, and knows it by this reason.
  const approvals = interrupts.filter(({ reason }) => reason === "tool_approval");
  const open = approvals.map((interrupt) => ({ ...interrupt, reason: "tool_call" }));
  const metadata = { custom: { agui: { interrupts: open } } };
  const shown = messages.map((message) => (message === asking && open.length > 0 ? { ...message, metadata } : message));
  return {
    load: async () => ({
      ...ExportedMessageRepository.fromArray(fromAgUiMessages(shown)),
      ...(state ? { state: state as never } : {}),
      unstable_resume: running,
    }),
    append: async () => {},
  };
}

function Chat({ history }: { history: ThreadHistoryAdapter }) {
  const [problem, setProblem] = useState("");
  const runtime = useAgUiRuntime({
    agent,
    adapters: { history },
    onError: (error) => setProblem(error.message),
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Tools />
      <main>
        <Header />
        <ThreadPrimitive.Root className="messages">
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
          <Activities />
        </ThreadPrimitive.Root>
        {problem && <p className="problem">{problem}</p>}
        <footer>
          <ComposerPrimitive.Root>
            <ComposerPrimitive.Input aria-label="Your message" placeholder="Ask something" />
            <AuiIf condition={({ thread }) => !thread.isRunning}>
              <ComposerPrimitive.Send onClick={() => setProblem("")}>Send</ComposerPrimitive.Send>
            </AuiIf>
            <AuiIf condition={({ thread }) => thread.isRunning}>
              <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
            </AuiIf>
          </ComposerPrimitive.Root>
        </footer>
      </main>
    </AssistantRuntimeProvider>
  );
}

/** Who answers, and how far a workflow is: Baton's state. */
function Header() {
  const state = useAgUiState<State>();
  const workflow = state?.workflow;
  return (
    <header>
      <strong className="agent">{state?.activeAgent.name ?? "Assistant"}</strong>
      <span className="step">{workflow && `Step ${workflow.step} of ${workflow.steps}: ${workflow.label}`}</span>
      <button type="button" onClick={startAnew}>
        New conversation
      </button>
    </header>
  );
}

function startAnew(): void {
  sessionStorage.removeItem("thread");
  location.reload();
}

/** Research and handoffs of the present run. assistant-ui leaves out AG-UI's activities; the agent has them. */
function Activities() {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  useEffect(() => {
    const { unsubscribe } = agent.subscribe({ onMessagesChanged: ({ messages }) => setMessages([...messages]) });
    return unsubscribe;
  }, []);
  return messages.map((message) => {
    if (message.role !== "activity") return null;
    const { label, agents = [], notice } = message.content as Activity;
    return (
      <section key={message.id} className={`activity ${message.activityType}`} aria-label={message.activityType}>
        <span className="label">{label}</span> {notice}
        <ul>
          {agents.map(({ id, name, status }) => (
            <li key={id}>{`${name}: ${status}`}</li>
          ))}
        </ul>
      </section>
    );
  });
}

function UserMessage() {
  return (
    <MessagePrimitive.Root asChild>
      <article className="user">
        <MessagePrimitive.Parts components={{ Text }} />
      </article>
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root asChild>
      <article className="assistant">
        <MessagePrimitive.Parts components={{ Text, tools: { Fallback: ToolCall } }} />
        <MessagePrimitive.Error>
          <ErrorPrimitive.Message className="problem" />
        </MessagePrimitive.Error>
        <ActionBarPrimitive.Root hideWhenRunning autohide="not-last">
          <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
        </ActionBarPrimitive.Root>
      </article>
    </MessagePrimitive.Root>
  );
}

function Text({ text }: { text: string }): ReactNode {
  return <div className="text">{text}</div>;
}

/** A call of a tool; with buttons while it waits for an approval. */
function ToolCall({ toolName, argsText, result, approval, respondToApproval }: ToolCallMessagePartProps) {
  const isWaiting = approval !== undefined && approval.approved === undefined && approval.resolution === undefined;
  return (
    <div className="tool">
      <code>{`${toolName} ${argsText}`}</code> {result !== undefined && "done"}
      {isWaiting && (
        <div role="group" aria-label="Approval">
          <button type="button" onClick={() => void respondToApproval({ approved: true })}>
            Approve
          </button>{" "}
          <button type="button" onClick={() => void respondToApproval({ approved: false, reason: "The user refused." })}>
            Refuse
          </button>
        </div>
      )}
    </div>
  );
}

/** A tool of this page. Baton offers it to the agent with every run. */
function Tools() {
  useAssistantTool({
    toolName: "change_background",
    description: "Changes the colour of the page's background.",
    parameters: {
      type: "object",
      properties: { color: { type: "string", description: "A CSS colour." } },
      required: ["color"],
    },
    execute: async ({ color }: { color: string }) => {
      document.body.style.background = color.replaceAll(" ", "");
      return { background: getComputedStyle(document.body).backgroundColor };
    },
  });
  return null;
}

// Read first, shown then: assistant-ui would drop what is said while it loads.
const root = createRoot(document.getElementById("app") ?? document.body);
agent.load().then(
  (stored) => root.render(<Chat history={historyOf(stored)} />),
  (error: Error) => root.render(<p className="problem">{error.message}</p>),
);
