import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { planSinks } from '../../../shared/traffic/sinks.ts'

t.test('search_index is another name of the sink opensearch', async t => {
  const plan = (variables: Record<string, string>) =>
    planSinks(parseSettings({ GATEWAY_TRAFFIC_LOG_ENABLED: 'true', ...variables })).sinks
  t.strictSame(plan({ GATEWAY_TRAFFIC_LOG_SINK: 'search_index' }), ['opensearch'])
  t.strictSame(plan({ GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,search_index,opensearch' }), ['jsonl', 'opensearch'])
  t.strictSame(plan({ GATEWAY_TRAFFIC_LOG_SINKS: '["SEARCH_INDEX"]' }), ['opensearch'])
})
