import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_PERMISSIONS } from "../src/permissions.ts";
import { placeOf } from "../src/routes.ts";
import { may, type Person } from "../src/session/session.ts";
import { VIEWS, viewAt } from "../src/views/index.ts";

function person(permissions: readonly string[]): Person {
  return { tenantId: "acme", userId: "ada", permissions, expiresAt: "2030-01-01T00:00:00Z" };
}

for (const missing of ALL_PERMISSIONS) {
  test(`without ${missing} exactly the views that need it are refused`, () => {
    const reader = person(ALL_PERMISSIONS.filter((each) => each !== missing));
    for (const { element, permission } of VIEWS)
      assert.equal(may(reader, permission), permission !== missing, `${element} needs ${permission}`);
  });
}

test("every view needs a permission, and nobody who is signed out has one", () => {
  for (const { permission } of VIEWS) {
    assert.notEqual(permission, null);
    assert.equal(may(null, permission), false);
  }
});

test("a permission is not had by a name that only contains it", () => {
  assert.equal(may(person(["audit:read_some", "xaudit:read"]), "audit:read"), false);
});

test("addresses lead to the view that shows them, and others to none", () => {
  const shown = (hash: string): string | undefined => viewAt(placeOf(hash))?.element;
  assert.equal(shown(""), "console-overview");
  assert.equal(shown("#/threads?q=a%20b"), "console-threads");
  assert.equal(shown("#/threads/t-1?at=call%3A1"), "console-timeline");
  assert.equal(shown("#/threads/t-1/turns/r-1"), "console-inspector");
  for (const hash of ["#/nowhere", "#/threads/t-1/turns", "#/audit/x", "#/__proto__"])
    assert.equal(shown(hash), undefined);
});
