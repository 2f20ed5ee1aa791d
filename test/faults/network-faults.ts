// Names, certificates, token servers and providers that fail.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { createAuthority, type Issued } from '../support/certificates.ts'
import { startNameServer } from '../support/name-server.ts'
import { findNamespaceCommand } from '../support/network-namespace.ts'
import type { Owner } from '../support/owner.ts'
import { waitUntil } from '../support/processes.ts'
import { whyWithoutProgram } from '../support/programs.ts'
import { createTemporaryFolder } from '../support/temporary.ts'
import { askAll, type Outcome } from './load.ts'
import { startProvider } from './provider.ts'
import { SHAPE_COUNT } from './questions.ts'
import { startTarget } from './target.ts'
import type { FaultEntry } from './types.ts'
import { type FaultName, upstreamFaults } from './upstream-faults.ts'

/** What is wrong when answers are not all of one kind. */
function differences(outcomes: readonly Outcome[], kind: Outcome['kind'], phase: string): string[] {
  const others = outcomes.filter(outcome => outcome.kind !== kind)
  const [first] = others
  return first === undefined
    ? []
    : [`${phase}: ${others.length} were not ${kind}, such as ${first.kind} ${first.question}: ${first.why}`]
}

function upstreamEntry(name: FaultName): FaultEntry {
  const { done, expected } = upstreamFaults[name]
  return {
    name: `provider-${name}`,
    done,
    expected:
      'change' in upstreamFaults[name]
        ? 'the bytes come as U+FFFD, and the rest of the answer is right'
        : expected === 'right'
          ? 'the answer is right'
          : 'an error of the family, also at the end of a stream; other questions are answered',
    async run({ shared, sized }) {
      const target = await shared('provider', owner => startTarget(owner))
      const faulty = { url: target.url, clients: SHAPE_COUNT, words: `[fault ${name}]` }
      const [broken, others] = await Promise.all([
        askAll(faulty, SHAPE_COUNT * sized(3)),
        askAll({ url: target.url, clients: 4 }, SHAPE_COUNT * sized(3))
      ])
      const problems = [
        ...differences(broken, expected, 'questions to the faulty provider'),
        ...differences(others, 'right', 'others')
      ]
      return { outcomes: [...broken, ...others], seen: `${broken.length} questions met it`, problems }
    }
  }
}

const tokenServer: FaultEntry = {
  name: 'token-server',
  done: 'every token of the provider is revoked again and again, while the token server is down, answers garbage, 500 or never, or is slow',
  expected: 'an error of the family within the time limit, and right answers as soon as there is a token',
  async run({ owner, sized }) {
    const target = await startTarget(owner, { env: { GATEWAY_WORKERS: '1' } })
    const { provider, url } = target
    const count = SHAPE_COUNT * sized(2)
    const outcomes: Outcome[] = []
    const problems: string[] = []
    const phases: Array<{ phase: string; kind: Outcome['kind']; answer: Parameters<typeof provider.answerTokens>[0] }> =
      [
        { phase: 'down', kind: 'refused', answer: response => void response.socket?.resetAndDestroy() },
        { phase: 'garbage', kind: 'refused', answer: response => void response.end('<html>') },
        { phase: 'an error', kind: 'refused', answer: response => void response.writeHead(500).end('{}') },
        { phase: 'never answers', kind: 'refused', answer: () => undefined },
        {
          phase: 'slow',
          kind: 'right',
          answer: response =>
            void setTimeout(
              () => response.end(JSON.stringify({ access_token: provider.token, expires_at: Date.now() + 60_000 })),
              700
            )
        }
      ]
    for (const { phase, kind, answer } of phases) {
      // The failure of the last phase is remembered for a moment.
      await waitUntil(
        async () => (await askAll({ url, clients: 1 }, 1))[0]?.kind === 'right',
        'there is a token',
        20_000
      )
      provider.answerTokens(answer)
      provider.revokeTokens()
      const asked = await askAll({ url, clients: SHAPE_COUNT }, count)
      provider.answerTokens(undefined)
      outcomes.push(...asked)
      problems.push(...differences(asked, kind, phase))
    }
    return { outcomes, seen: `${provider.tokenCalls} token calls`, problems }
  }
}

const HOST = 'provider.faults.test'
const NAME_SERVER = '127.0.0.77'

const names: FaultEntry = {
  name: 'names',
  done: 'the name of the provider stops to resolve, first with an answer and then with a silent name server; its connections are closed',
  expected: 'an error of the family within the time limit, and right answers as soon as the name resolves again',
  whySkipped: () =>
    process.getuid?.() === 0 && findNamespaceCommand() !== undefined
      ? false
      : 'this machine gives no mounts of its own',
  async run({ owner, sized }) {
    let addresses: readonly string[] | undefined = ['127.0.0.1']
    await startNameServer(owner, (_name, family) => (family === 4 ? addresses : addresses && []), {
      host: NAME_SERVER,
      port: 53
    })
    const folder = createTemporaryFolder(owner)
    const script = [
      `echo 'nameserver ${NAME_SERVER}' >${folder}/resolv.conf && echo 'options timeout:1 attempts:1' >>${folder}/resolv.conf`,
      `echo 'hosts: files dns' >${folder}/nsswitch.conf`,
      `mount --bind ${folder}/resolv.conf /etc/resolv.conf && mount --bind ${folder}/nsswitch.conf /etc/nsswitch.conf`,
      'exec "$@"'
    ].join(' && ')
    const target = await startTarget(owner, {
      launcher: ['unshare', '--mount', 'sh', '-c', script, 'sh'],
      providerHost: HOST
    })
    const count = SHAPE_COUNT * sized(2)
    const outcomes: Outcome[] = []
    const problems: string[] = []
    const phases: Array<[string, readonly string[] | undefined, Outcome['kind']]> = [
      ['resolves', ['127.0.0.1'], 'right'],
      ['no address', [], 'refused'],
      ['again', ['127.0.0.1'], 'right'],
      ['silent', undefined, 'refused'],
      ['again', ['127.0.0.1'], 'right']
    ]
    for (const [phase, answer, kind] of phases) {
      addresses = answer
      target.provider.dropConnections()
      await waitUntil(() => target.provider.running === 0, 'no call is left')
      const asked = await askAll({ url: target.url, clients: SHAPE_COUNT }, count)
      outcomes.push(...asked)
      problems.push(...differences(asked, kind, phase))
    }
    return { outcomes, seen: 'each phase ended with the next one', problems }
  }
}

async function listen(owner: Owner, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  owner.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

function join(left: Socket, right: Socket): void {
  left.on('error', () => right.destroy())
  right.on('error', () => left.destroy())
  left.on('close', () => right.destroy())
  right.on('close', () => left.destroy())
  left.pipe(right).pipe(left)
}

/** A port whose connections lead to the one that `choose` names, or nowhere. */
async function startSwitch(owner: Owner, choose: () => number | undefined): Promise<{ port: number; drop(): void }> {
  const open = new Set<Socket>()
  const drop = (): void => {
    for (const socket of open) socket.destroy()
  }
  owner.teardown(drop)
  const server = createServer(socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    const port = choose()
    if (port === undefined) socket.on('error', () => undefined)
    else join(socket, connect(port, '127.0.0.1'))
  })
  return { port: await listen(owner, server), drop }
}

/** The provider behind TLS. */
function startTls(owner: Owner, { cert, key }: Issued, provider: { port: number }): Promise<number> {
  const server = createTlsServer({ cert, key }, socket => join(socket, connect(provider.port, '127.0.0.1')))
  server.on('tlsClientError', () => undefined)
  return listen(owner, server)
}

const certificates: FaultEntry = {
  name: 'certificates',
  done: 'the certificate of the provider expires, is then of an unknown authority and for another name, and at last the TLS handshake never ends',
  expected: 'an error of the family each time, and right answers as soon as the certificate is good again',
  whySkipped: () => whyWithoutProgram('openssl'),
  async run({ owner, sized }) {
    const trusted = createAuthority(owner, 'trusted by the suite')
    const unknown = createAuthority(owner, 'unknown')
    const provider = await startProvider(owner)
    const good = await startTls(owner, trusted.issue({ name: 'good' }), provider)
    const phases: Array<[string, number | undefined]> = [
      ['expired', await startTls(owner, trusted.issue({ name: 'expired', days: -1 }), provider)],
      ['untrusted', await startTls(owner, unknown.issue({ name: 'untrusted' }), provider)],
      ['other name', await startTls(owner, trusted.issue({ name: 'other', hosts: ['DNS:other.test'] }), provider)],
      ['stalled', undefined]
    ]
    let chosen: number | undefined = good
    const { port, drop } = await startSwitch(owner, () => chosen)
    const target = await startTarget(owner, {
      provider,
      env: { UPSTREAM_BASE_URL: `https://localhost:${port}/api/v1`, NODE_EXTRA_CA_CERTS: trusted.certFile }
    })
    const outcomes: Outcome[] = []
    const problems: string[] = []
    async function askFor(phase: string, kind: Outcome['kind']): Promise<void> {
      drop()
      const asked = await askAll({ url: target.url, clients: SHAPE_COUNT }, SHAPE_COUNT * sized(2))
      outcomes.push(...asked)
      problems.push(...differences(asked, kind, phase))
    }
    for (const [phase, chosenNow] of phases) {
      chosen = chosenNow
      await askFor(phase, 'refused')
      chosen = good
      await askFor(`good after ${phase}`, 'right')
    }
    return { outcomes, seen: `${phases.length} kinds of bad certificates and handshakes`, problems }
  }
}

export const networkFaults: readonly FaultEntry[] = [
  names,
  certificates,
  tokenServer,
  ...(Object.keys(upstreamFaults) as FaultName[]).map(upstreamEntry)
]
