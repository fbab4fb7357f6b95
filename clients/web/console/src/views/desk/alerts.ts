import type { FeedChange } from "./desk-feed.ts";

export type AlertKind = "sound" | "notification";

const KEY = "baton-console:desk-alerts:";
const TONE_HZ = 660;
const TONE_SECONDS = 0.25;

/** Returns what somebody should hear of: a conversation that has begun to wait, or a message in one's own. */
export function newsOf({ before, item }: FeedChange, personId: string): "waits" | "writes" | null {
  if (!item) return null;
  if (item.status === "waiting") return before?.status === "waiting" && before.deskId === item.deskId ? null : "waits";
  if (item.person?.id !== personId || before === null) return null;
  return item.unread > before.unread ? "writes" : null;
}

/** Whether pages may notify: browsers of phones have the class, and leave it to service workers, which throws here. */
function canNotify(): boolean {
  if (!("Notification" in window)) return false;
  if (Notification.permission !== "default") return true;
  try {
    new Notification(""); // not shown without permission
    return true;
  } catch {
    return false;
  }
}

/** Sounds and notifications of the browser, for those who want them. The choice is kept in this browser. */
export class Alerts {
  #audio: AudioContext | null = null;

  isOn(kind: AlertKind): boolean {
    if (kind === "notification" && (!("Notification" in window) || Notification.permission !== "granted")) return false;
    return localStorage.getItem(KEY + kind) === "on";
  }

  /** Whether any kind is on. */
  get areOn(): boolean {
    return this.isOn("sound") || this.isOn("notification");
  }

  /** Switches a kind on or off. Resolves to whether it is on: the browser may refuse notifications. */
  async set(kind: AlertKind, isOn: boolean): Promise<boolean> {
    localStorage.setItem(KEY + kind, isOn && (kind === "sound" || canNotify()) ? "on" : "off");
    if (isOn && kind === "notification" && canNotify()) await Notification.requestPermission();
    if (isOn && kind === "sound") this.#play();
    return this.isOn(kind);
  }

  notify(title: string, body: string, open: () => void): void {
    if (this.isOn("sound")) this.#play();
    if (!this.isOn("notification") || !document.hidden) return;
    let notification: Notification;
    try {
      notification = new Notification(title, { body, tag: `${title}\0${body}` });
    } catch {
      return; // the browser of a phone, which was given the permission earlier
    }
    notification.onclick = () => {
      window.focus();
      open();
      notification.close();
    };
  }

  #play(): void {
    this.#audio ??= new AudioContext();
    const tone = this.#audio.createOscillator();
    const volume = this.#audio.createGain();
    const end = this.#audio.currentTime + TONE_SECONDS;
    tone.frequency.value = TONE_HZ;
    volume.gain.setValueAtTime(0.15, this.#audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, end);
    tone.connect(volume).connect(this.#audio.destination);
    tone.start();
    tone.stop(end);
  }
}
