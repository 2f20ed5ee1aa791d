// The debugging routes in the documentation of the API.

import t from 'tap'
import { explainedFamilies, translationEndpoints } from '../../../worker/debug/job.ts'
import { startDocumentedGateway } from '../../support/docs-gateway.ts'
import { createCaller, debugVariables } from './support.ts'

t.test('the document lists every debugging route, which needs the admin key', async t => {
  const { url, document } = await startDocumentedGateway(t, debugVariables)
  const paths = [
    ...translationEndpoints.map(name => (name === 'translate' ? '/_debug/translate' : `/_debug/translate/${name}`)),
    ...explainedFamilies.flatMap(family => [`/_debug/explain/${family}`, `/debug/explain/${family}`])
  ]
  for (const path of paths) {
    t.match(document.paths[path]?.post, { tags: ['Admin / Debug Translation'], security: [{ adminKey: [] }] }, path)
  }
  const debugging = Object.keys(document.paths).filter(path => path.includes('debug'))
  t.strictSame(debugging.toSorted(), paths.toSorted())
  t.equal((await createCaller({ url })('/_debug/translate', {})).status, 400)
})
