package org.apache.kafka.controller;

import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.requests.ApiError;

/** Changes configurations of existing resources, for a caller that may do so. */
final class Configurations {
    private Configurations() { }

    static ControllerResult<Map<ConfigResource, ApiError>> incrementalAlterConfigs(
        ConfigurationControlManager manager, Map<ConfigResource, Map<String, Map.Entry<OpType, String>>> changes
    ) {
        return manager.incrementalAlterConfigs(changes, false, false);
    }
}
