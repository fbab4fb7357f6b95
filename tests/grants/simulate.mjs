// Decides requests by IAM policies: a JSON list on standard input, a JSON list of decisions on standard output.
// The argument is the folder that its packages are installed in.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const { runSimulation } = createRequire(join(process.argv[2], 'package.json'))('@cloud-copilot/iam-simulate')

const ACCOUNT = '000000000000'

// The action and resource patterns of the statements that allowed a request, and that matched it.
function uses(analysis) {
  return (analysis?.identityAnalysis?.allowStatements ?? []).flatMap(({ statement, explain }) =>
    matching(explain.actions).flatMap(({ action }) =>
      matching(explain.resources).map(({ resource }) => ({ sid: statement.Sid ?? null, action, resource }))))
}

function matching(explained) {
  return [explained ?? []].flat().filter((each) => each.matches)
}

async function decide({ role, function: name, action, resource, context, policies, resourcePolicy }) {
  const answer = await runSimulation({
    request: {
      principal: `arn:aws:sts::${ACCOUNT}:assumed-role/${role}/${name}`,
      action,
      resource: { resource, accountId: ACCOUNT },
      contextVariables: context,
    },
    identityPolicies: policies.map((policy, number) => ({ name: `${role}-${number}`, policy })),
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    resourcePolicy: resourcePolicy ?? undefined,
  }, {})
  if (answer.resultType === 'error') return { result: 'Error', why: JSON.stringify(answer.errors), uses: [] }
  return { result: answer.overallResult, why: '', uses: uses(answer.result?.analysis) }
}

const decisions = []
for (const request of JSON.parse(await text(process.stdin))) decisions.push(await decide(request))
process.stdout.write(JSON.stringify(decisions))
