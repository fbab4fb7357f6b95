/** Lets the browser save a file under a name. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun when the click returns, but not every browser has opened the address by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
